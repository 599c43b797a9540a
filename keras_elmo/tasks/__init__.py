"""Tasks: their files, batches, training, scores; see `TASKS`."""
