"""Read the evidence of switches for a finding: delays between them (`switch_queues`), lost packets (`switch_losses`)."""
