"""Routes that change something or start work: actions, alerts and silences, remarks, uploads, diagnoses of the past."""
