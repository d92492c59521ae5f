"""How a prompt reaches a language model: routes, limits, fallback, retries, spending, and what is never shown."""
