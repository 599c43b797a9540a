"""Files of the programs that published ELMo models: read, written, converted."""
