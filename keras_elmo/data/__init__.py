"""Text as batches for training."""
