"""Small changes to the policy, the limits and the doom loops, each of which some test must notice."""
