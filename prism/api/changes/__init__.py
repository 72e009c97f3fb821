"""Routes that change state or start work: actions, alerts and silences, remarks, uploads, diagnoses of the past."""
