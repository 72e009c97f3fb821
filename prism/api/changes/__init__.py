"""Routes of the REST interface that change something: actions, remarks, silences, replays."""
