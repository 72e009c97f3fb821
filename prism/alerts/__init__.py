"""Decide who is notified of what, and when; everything here is pure. `prism.app.notifier` runs it.

1. **describe** (`alert_texts`, `alert_labels`): a case becomes an `Alert`: labels name it, annotations say what to do;
2. **mute** (`inhibition`, `matchers`): a victim is silent while its cause is open, and so is what a silence matches;
3. **group** (`grouping`, `planning`): alerts of one group go out together; `due` says whether now, and why;
4. **keep** (`prism.storage.outbox`): the notification is in the store, with its id, before it is sent;
5. **render** (`receivers`): the body that each kind of receiver expects;
6. **deliver** (`prism.notify`): posted or mailed to an address that was checked, within limits;
7. **retry** (`receivers.delivery_results`): whether it may be tried again, and when; else it is a dead letter, which is shown.
"""
