"""What NCCL's inspector writes of two communicators, a file a process: on 0x7f8c rank 2 comes 200 us late to every
all-reduce but the first two."""
import json

HOSTS = ["node-1", "node-1", "node-2", "node-2"]


def write(out, communicator, rank, ranks, host, coll, number, size, microseconds):
    seconds = microseconds * 1e-6
    algbw = size / seconds / 1e9
    print(json.dumps({
        "header": {"id": communicator, "rank": rank, "n_ranks": ranks, "nnodes": 2},
        "metadata": {"inspector_output_format_version": "v4.0", "rec_mechanism": "nccl_profiler_interface",
                     "dump_timestamp_us": 1748030377748202 + number, "hostname": host, "pid": 4242 + rank},
        "coll_perf": {"coll": coll, "coll_sn": number, "coll_msg_size_bytes": size, "coll_exec_time_us": microseconds,
                      "coll_algobw_gbs": round(algbw, 6), "coll_busbw_gbs": round(1.5 * algbw, 6)}}), file=out)


for rank, host in enumerate(HOSTS):
    with open(f"{host}-pid{4242 + rank}.log", "w") as out:
        for number in range(40):
            late = 0 if rank == 2 or number < 2 else 200
            write(out, "0x7f8c496ae9f661", rank, 4, host, "AllReduce", number, 1 << 26, 900 + late + rank)
        write(out, "0x9e7a479f95a66c", rank, 4, host, "AllGather", 0, 1 << 20, 50)
