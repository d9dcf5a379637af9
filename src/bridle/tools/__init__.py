"""What the model may do to the world."""
