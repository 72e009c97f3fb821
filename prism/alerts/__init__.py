"""Decide which alerts go to which receiver, and when. Everything here is pure; `prism.app.notifier` runs it.

1. **describe** (`alert_texts`, `alert_labels`): turn a case into an `Alert`: labels identify it, annotations advise;
2. **mute** (`inhibition`, `matchers`): drop alerts that an open root cause explains, and alerts that a silence matches;
3. **group** (`grouping`, `planning`): send the alerts of one group together; `due` decides when, and returns the reason;
4. **keep** (`prism.storage.outbox`): store the notification with its id before it is sent;
5. **render** (`receivers`): build the body for each kind of receiver;
6. **deliver** (`prism.notify`): send the body to a checked address, within limits;
7. **retry** (`receivers.delivery_results`): decide whether and when to try again; failed ones become visible dead letters.
"""
