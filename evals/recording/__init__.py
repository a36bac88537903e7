"""Recording a conversation: scenario, tools, endpoint, recorder, redaction."""
