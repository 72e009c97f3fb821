-- Tables of Prism on a ClickHouse cluster, written by `python -m collectors.store.cluster_tables`; do not edit.
--
-- Every server's settings need the macros cluster, shard and replica, and the cluster's definition needs
-- <internal_replication>true</internal_replication>: one replica receives a batch and copies it to the others.
-- Run it once, on any server: clickhouse-client --multiquery < cluster.sql
-- Then use any server of the cluster: prism-collect ... --out clickhouse://user:password@server/prism
CREATE DATABASE IF NOT EXISTS prism ON CLUSTER '{cluster}';

USE prism;

CREATE TABLE IF NOT EXISTS prism_tables_local ON CLUSTER '{cluster}' (
  name String,
  version UInt32,
  keep_s Int64,
  partition_ns Int64,
  at_ns Int64
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', at_ns)
ORDER BY (name)
SETTINGS fsync_after_insert = 1,
  fsync_part_directory = 1,
  replicated_deduplication_window = 10000,
  replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS prism_tables ON CLUSTER '{cluster}' AS prism_tables_local
ENGINE = Distributed('{cluster}', currentDatabase(), 'prism_tables_local', cityHash64(name));

CREATE TABLE IF NOT EXISTS flows_local ON CLUSTER '{cluster}' (
  start_ns Int64 CODEC(T64, LZ4),
  end_ns Int64 CODEC(T64, LZ4),
  src_high UInt64 CODEC(ZSTD(1)),
  src_low UInt64 CODEC(ZSTD(1)),
  dst_high UInt64 CODEC(ZSTD(1)),
  dst_low UInt64 CODEC(ZSTD(1)),
  src_port UInt16 CODEC(ZSTD(1)),
  dst_port UInt16 CODEC(ZSTD(1)),
  protocol UInt8 CODEC(ZSTD(1)),
  dst_qp UInt32 CODEC(T64, ZSTD(1)),
  octets UInt64 CODEC(T64, ZSTD(1)),
  packets UInt64 CODEC(T64, ZSTD(1)),
  messages UInt32 CODEC(T64, ZSTD(1)),
  retransmits UInt32 CODEC(T64, ZSTD(1)),
  ecn UInt32 CODEC(T64, ZSTD(1)),
  cnp UInt32 CODEC(T64, ZSTD(1)),
  tcp_flags UInt8 CODEC(ZSTD(1)),
  busy_ns UInt64 CODEC(T64, ZSTD(1)),
  sampling_rate UInt32 CODEC(T64, ZSTD(1)),
  exporter LowCardinality(String),
  path LowCardinality(String),
  job_id UInt32 CODEC(T64, ZSTD(1)),
  batch UInt64 CODEC(ZSTD(1)),
  start_time DateTime ALIAS toDateTime(intDiv(start_ns, 1000000000)),
  end_time DateTime ALIAS toDateTime(intDiv(end_ns, 1000000000)),
  src String ALIAS if(src_high = 0 AND intDiv(src_low, 4294967296) = 65535, IPv4NumToString(toUInt32(src_low % 4294967296)), IPv6NumToString(toFixedString(unhex(concat(substring(concat('0000000000000000', hex(src_high)), -16), substring(concat('0000000000000000', hex(src_low)), -16))), 16))),
  dst String ALIAS if(dst_high = 0 AND intDiv(dst_low, 4294967296) = 65535, IPv4NumToString(toUInt32(dst_low % 4294967296)), IPv6NumToString(toFixedString(unhex(concat(substring(concat('0000000000000000', hex(dst_high)), -16), substring(concat('0000000000000000', hex(dst_low)), -16))), 16)))
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY intDiv(start_ns, 12120000000000)
ORDER BY (intDiv(start_ns, 300000000000), src_low, dst_low, start_ns)
TTL toDateTime(intDiv(start_ns, 1000000000)) + INTERVAL 604800 SECOND
SETTINGS ttl_only_drop_parts = 1,
  max_bytes_to_merge_at_max_space_in_pool = 1073741824,
  fsync_after_insert = 1,
  fsync_part_directory = 1,
  replicated_deduplication_window = 10000,
  replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS flows ON CLUSTER '{cluster}' AS flows_local
ENGINE = Distributed('{cluster}', currentDatabase(), 'flows_local', intHash64(batch));

CREATE TABLE IF NOT EXISTS flow_pairs_local ON CLUSTER '{cluster}' (
  minute_ns Int64 CODEC(T64, LZ4),
  src_high UInt64 CODEC(T64, LZ4),
  src_low UInt64 CODEC(T64, LZ4),
  dst_high UInt64 CODEC(T64, LZ4),
  dst_low UInt64 CODEC(T64, LZ4),
  records SimpleAggregateFunction(sum, UInt64) CODEC(T64, LZ4),
  octets SimpleAggregateFunction(sum, UInt64) CODEC(T64, LZ4),
  packets SimpleAggregateFunction(sum, UInt64) CODEC(T64, LZ4),
  messages SimpleAggregateFunction(sum, UInt64) CODEC(T64, LZ4),
  retransmits SimpleAggregateFunction(sum, UInt64) CODEC(T64, LZ4),
  ecn SimpleAggregateFunction(sum, UInt64) CODEC(T64, LZ4),
  cnp SimpleAggregateFunction(sum, UInt64) CODEC(T64, LZ4),
  first_ns SimpleAggregateFunction(min, Int64) CODEC(T64, LZ4),
  last_ns SimpleAggregateFunction(max, Int64) CODEC(T64, LZ4),
  src String ALIAS if(src_high = 0 AND intDiv(src_low, 4294967296) = 65535, IPv4NumToString(toUInt32(src_low % 4294967296)), IPv6NumToString(toFixedString(unhex(concat(substring(concat('0000000000000000', hex(src_high)), -16), substring(concat('0000000000000000', hex(src_low)), -16))), 16))),
  dst String ALIAS if(dst_high = 0 AND intDiv(dst_low, 4294967296) = 65535, IPv4NumToString(toUInt32(dst_low % 4294967296)), IPv6NumToString(toFixedString(unhex(concat(substring(concat('0000000000000000', hex(dst_high)), -16), substring(concat('0000000000000000', hex(dst_low)), -16))), 16)))
)
ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
PARTITION BY intDiv(minute_ns, 120960000000000)
ORDER BY (minute_ns, src_high, src_low, dst_high, dst_low)
TTL toDateTime(intDiv(minute_ns, 1000000000)) + INTERVAL 6048000 SECOND
SETTINGS ttl_only_drop_parts = 1,
  fsync_after_insert = 1,
  fsync_part_directory = 1,
  replicated_deduplication_window = 10000,
  replicated_deduplication_window_seconds = 604800;

CREATE TABLE IF NOT EXISTS flow_pairs ON CLUSTER '{cluster}' AS flow_pairs_local
ENGINE = Distributed('{cluster}', currentDatabase(), 'flow_pairs_local', cityHash64(minute_ns, src_high, src_low, dst_high, dst_low));

INSERT INTO prism_tables (name, version, keep_s, partition_ns, at_ns) VALUES
  ('flows', 1, 604800, 12120000000000, 0),
  ('flow_pairs', 1, 6048000, 120960000000000, 0);
