"""The life of an alert, from a case on the board to somebody's telephone.

1. **word** (`alert_texts`, `alert_labels`): a case becomes an `Alert`: labels that name it, annotations that say what to do;
2. **mute** (`inhibition`, `matchers`): a victim is silent while its cause is told, and what a silence matches;
3. **group** (`grouping`): alerts of one group go out together; `due` says whether now, and why;
4. **keep** (`prism.storage.outbox`): the notification is in the store, with its id, before anybody hears of it;
5. **render** (`webhook_bodies`, `slack`, `signing`): the body each kind of receiver expects;
6. **deliver** (`prism.notify.webhooks`): posted to an address that was checked, within limits;
7. **retry** (`delivery_results`): whether it may be tried again, and when; else it is a dead letter, which is shown.

All but keeping and delivering is pure; `prism.app.notifier.Alerts` runs it.
"""
