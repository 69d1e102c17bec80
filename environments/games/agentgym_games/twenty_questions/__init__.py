"""Twenty questions: find the hidden one by asking about attributes."""
