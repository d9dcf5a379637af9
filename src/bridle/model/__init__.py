"""Adapters from a provider's wire to Bridle's stream events."""
