"""The distributed training step: one TensorFlow graph per process, wired as a strategy says."""
