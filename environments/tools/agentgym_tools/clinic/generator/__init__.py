"""Makes the clinic's content from a seed; the package ships what it made."""
