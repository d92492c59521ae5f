"""Questions drafted from a corpus, by templates or a language model, filtered with reasons, reviewed by a person."""
