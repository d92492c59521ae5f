"""Why a strategy scores as it does: where evidence was lost, question by question, by kind."""
