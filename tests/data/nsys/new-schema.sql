-- An export in the form of Nsight Systems' schema 3.x: tables are there only when something is in them.
-- Node with two GPUs, two processes: 4242 is MPI rank 1 and drives GPU 0, 4243 is rank 0 and drives GPU 1 (its device 0).
-- A process's globalPid is (1 << 48) + (pid << 24), a thread's globalTid that plus its number.
BEGIN;
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES
 (1, 'void gemm_bf16<128, 128>(Params)'), (2, 'gemm_bf16'),
 (3, 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)'),
 (4, 'ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)'),
 (5, 'cudaLaunchKernel'), (6, 'cudaMemcpyAsync'), (7, 'cudaGraphLaunch'), (8, 'cudaDeviceSynchronize'),
 (9, 'ncclAllReduce'), (10, 'ncclGroupStart'), (11, 'ncclGroupEnd'), (12, 'ncclSend'), (13, 'NCCL'),
 (14, 'iteration 1'), (15, 'iteration 2'), (16, 'forward'), (17, 'ncclCommInitRank'), (18, 'MPI_Barrier'),
 (19, '{"NCCL communicator ID":"0x1234abcd","Message size [bytes]":1048576,"Reduction operation":"Sum"}'),
 (20, '{"NCCL communicator ID":"0x1234abcd","No. of ranks":2,"Rank":1,"CUDA device":0}'),
 (21, '{"NCCL communicator ID":"0x1234abcd","Message size [bytes]":4096,"Peer":0}');
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.13.2');
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1750000000000000000, '2025-06-15T15:06:40', '2025-06-15T15:06:40');
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, busLocation TEXT, smCount INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES (0, 0, 'NVIDIA H100 80GB HBM3', '0000:17:00.0', 132), (0, 1, 'NVIDIA H200', '0000:3d:00.0', 132);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 4242, 'a'), (1, 0, 4243, 'b');
CREATE TABLE MPI_RANKS (globalPid INTEGER, rank INTEGER);
INSERT INTO MPI_RANKS VALUES ((1 << 48) + (4242 << 24), 1), ((1 << 48) + (4243 << 24), 0);

CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER, greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER, shortName INTEGER, mangledName INTEGER, graphNodeId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, globalPid, demangledName, shortName) VALUES
 (1000, 2000, 0, 7, 11, (1 << 48) + (4242 << 24), 1, 2),
 (2100, 2600, 0, 9, 12, (1 << 48) + (4242 << 24), 3, 3),     -- an all-reduce
 (2700, 2900, 0, 9, 13, (1 << 48) + (4242 << 24), 4, 4),     -- two sends of a group
 (3000, 3500, 0, 7, 14, (1 << 48) + (4242 << 24), 99, 2),    -- no such string
 (3600, 3500, 0, 7, 15, (1 << 48) + (4242 << 24), 1, 2),     -- ends before it starts
 (9223372036854775807, 9223372036854775807, 0, 7, 16, (1 << 48) + (4242 << 24), 1, 2),  -- beyond all years
 (1000, 3000, 0, 7, 11, (1 << 48) + (4243 << 24), 1, 2),     -- the same correlation in another process
 (4000, 4500, 0, 7, 12, (1 << 48) + (4243 << 24), 1, 2);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, globalPid, demangledName) VALUES
 ('soon', 10, 0, 7, 17, (1 << 48) + (4242 << 24), 1);        -- text where a time should be
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES
 (500, 900, 0, 13, 10, (1 << 48) + (4242 << 24), 4096, 1, 1, 2), (5000, 5100, 0, 13, 18, (1 << 48) + (4242 << 24), 64, 10, 2, 2);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER, memKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (100, 200, 0, 13, 9, (1 << 48) + (4242 << 24), 0, 4096, 2);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, graphId INTEGER,
  contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphExecId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (5000, 8000, 0, 3, 1, 7, 20, (1 << 48) + (4243 << 24), 5);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
 (400, 450, 0, (1 << 48) + (4242 << 24) + 1, 10, 6, 0, NULL),
 (600, 650, 0, (1 << 48) + (4242 << 24) + 1, 11, 5, 0, NULL),
 (700, 750, 0, (1 << 48) + (4242 << 24) + 1, 12, 5, 0, NULL),
 (830, 840, 0, (1 << 48) + (4242 << 24) + 1, 13, 5, 0, NULL),
 (2000, 2050, 0, (1 << 48) + (4242 << 24) + 1, 14, 5, 0, NULL),
 (300, 350, 0, (1 << 48) + (4243 << 24) + 2, 11, 5, 0, NULL),
 (3950, 3990, 0, (1 << 48) + (4243 << 24) + 2, 12, 5, 0, NULL),
 (4600, 4700, 0, (1 << 48) + (4243 << 24) + 2, 20, 7, 0, NULL),
 (9000, 9100, 0, (1 << 48) + (4243 << 24) + 2, 21, 8, 0, NULL);

CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER, color INTEGER,
  text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, jsonTextId INTEGER, jsonText TEXT);
INSERT INTO NVTX_EVENTS (start, end, eventType, text, textId, globalTid, domainId, jsonTextId) VALUES
 (10, NULL, 75, NULL, 13, (1 << 48) + (4242 << 24) + 1, 1, NULL),          -- makes the domain NCCL
 (20, 30, 59, NULL, 17, (1 << 48) + (4242 << 24) + 1, 1, 20),
 (350, 1950, 60, NULL, 14, (1 << 48) + (4242 << 24) + 1, 0, NULL),         -- iteration 1, start/end
 (1960, 5500, 59, NULL, 15, (1 << 48) + (4242 << 24) + 1, 0, NULL),        -- iteration 2, push/pop
 (1970, 2100, 59, NULL, 16, (1 << 48) + (4242 << 24) + 1, 0, NULL),        -- forward
 (690, 760, 59, NULL, 9, (1 << 48) + (4242 << 24) + 1, 1, 19),             -- ncclAllReduce around its launch
 (800, 805, 59, NULL, 10, (1 << 48) + (4242 << 24) + 1, 1, NULL),
 (806, 808, 59, NULL, 12, (1 << 48) + (4242 << 24) + 1, 1, 21),
 (810, 812, 59, NULL, 12, (1 << 48) + (4242 << 24) + 1, 1, 21),
 (820, 850, 59, NULL, 11, (1 << 48) + (4242 << 24) + 1, 1, NULL),          -- the group's end launches
 (100, 9500, 59, 'step 7', NULL, (1 << 48) + (4243 << 24) + 2, 0, NULL),   -- text beside the row
 (600, NULL, 59, 'open', NULL, (1 << 48) + (4243 << 24) + 2, 0, NULL),     -- no end
 (600, 700, 59, 'elsewhere', NULL, (1 << 48) + (777 << 24) + 3, 0, NULL),  -- a process without GPU work
 (50, 60, 59, 'lib', NULL, (1 << 48) + (4243 << 24) + 2, 4, NULL),         -- a domain that nothing names
 (40, NULL, 34, 'a mark', NULL, (1 << 48) + (4243 << 24) + 2, 0, NULL);
CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER, size INTEGER);
INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (200, 260, (1 << 48) + (4243 << 24) + 2, 18, 0);
CREATE TABLE OSRT_API (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);
INSERT INTO OSRT_API VALUES (1, 2, 0, 5), (3, 4, 0, 5);

CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, sourceId INTEGER, typeName TEXT, metricId INTEGER, metricName TEXT);
INSERT INTO TARGET_INFO_GPU_METRICS VALUES
 (1099511627776, 1, 'GH100', 1, 'GPC Clock Frequency [MHz]'), (1099511627776, 1, 'GH100', 2, 'GR Active [Throughput %]'),
 (1099511627776, 1, 'GH100', 3, 'SM Active [Throughput %]'), (1099511627777, 1, 'GH100', 1, 'GPC Clock Frequency [MHz]'),
 (1099511627777, 1, 'GH100', 3, 'SM Active [Throughput %]');
CREATE TABLE GPU_METRICS (timestamp INTEGER, rawTimestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER);
INSERT INTO GPU_METRICS VALUES
 (0, 0, 1099511627776, 1, 1980), (100000, 0, 1099511627776, 1, 1755), (0, 0, 1099511627776, 2, 100), (100000, 0, 1099511627776, 2, 0),
 (0, 0, 1099511627776, 3, 40), (100000, 0, 1099511627776, 3, 60), (0, 0, 1099511627777, 1, 1200000000),
 (0, 0, 1099511627777, 3, 90), (0, 0, 1099511627777, 42, 1);  -- a metric that nothing names
COMMIT;
