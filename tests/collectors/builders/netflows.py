"""A decoder of NetFlow and IPFIX for one batch."""

from collectors.exports.netflow.netflow import NetflowDecoder
from tests.collectors.builders.exports import batch, check_laws


def decoded(*payloads, **options):
    decoder = NetflowDecoder(**options)
    flows = decoder.decode(batch(*payloads))
    check_laws(decoder.tally, decoder.exporters)
    return flows, decoder
