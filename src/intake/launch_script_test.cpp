#include "intake/launch_script.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/test_support.h"
#include "intake/script/shell_launch.h"
#include "spec/files/test_file.h"

namespace ergometer::intake {
namespace {

/// GPUs that a script's last Python program gets, 0 where that is not said.
int64_t gpus_of(const std::string& script) {
  const auto run = run_shell(script, "run.sh", {});
  if (!run || run->commands.empty()) return -1;
  const auto launch = launch_of(run->commands.back(), *run);
  return launch ? launch->gpus : -1;
}

TEST(ShellLaunch, GpusOfLaunchers) {
  EXPECT_EQ(gpus_of("torchrun --nnodes 4 --nproc_per_node=8 train.py --nnodes 9"), 32);
  EXPECT_EQ(gpus_of("torchrun --nproc-per-node 8 -m pkg.train"), 8);
  EXPECT_EQ(gpus_of("torchrun --nnodes $NNODES --nproc_per_node 8 train.py"), 0);
  EXPECT_EQ(gpus_of("torchrun --nproc_per_node 8 --nnodes $NNODES train.py"), 0);
  EXPECT_EQ(gpus_of("torchrun --nproc_per_node 8 --nnodes=$NNODES train.py"), 0);
  EXPECT_EQ(gpus_of("torchrun --nnodes 1:4 --nproc_per_node 8 train.py"), 0);
  EXPECT_EQ(gpus_of("python -m torch.distributed.launch --nproc_per_node 4 --nnodes 2 train.py"),
            8);
  EXPECT_EQ(gpus_of("srun -N 4 --ntasks-per-node=8 python -u train.py"), 32);
  EXPECT_EQ(gpus_of("flux run -N 4 -n 32 -g 1 python train.py"), 32);
  EXPECT_EQ(gpus_of("aprun -n 64 -N 4 python train.py"), 64);
  EXPECT_EQ(gpus_of("jsrun -n 16 -a 6 -g 6 -c 42 python train.py"), 96);
  EXPECT_EQ(gpus_of("jsrun --nrs=96 --tasks_per_rs 1 -r6 python train.py"), 96);
  EXPECT_EQ(gpus_of("jsrun -n16 -a1 -g6 torchrun --nnodes 16 --nproc_per_node 6 train.py"), 96);
  EXPECT_EQ(gpus_of("jsrun -r 6 -g 1 python train.py"), 0);
  EXPECT_EQ(gpus_of("srun -n16 python train.py"), 16);
  EXPECT_EQ(gpus_of("#SBATCH --nodes=3 --ntasks-per-node=4\nsrun python train.py"), 12);
  EXPECT_EQ(gpus_of("#SBATCH -N 2\n#SBATCH --gres=gpu:a100:8\n"
                    "srun torchrun --nnodes $SLURM_NNODES --nproc-per-node gpu train.py"),
            16);
  // Of a node's resources the GPUs: others stand beside them, and kinds of GPUs beside each other.
  for (const char* gres : {"nvme:100,gpu:4", "gpu:4,nvme:100", "gpu:a100:2,gpu:v100:2"})
    EXPECT_EQ(gpus_of(fmt::format("#SBATCH -N 2\n#SBATCH --gres={}\nsrun torchrun --nnodes 2 "
                                  "--nproc-per-node $SLURM_GPUS_ON_NODE train.py",
                                  gres)),
              8)
        << gres;
  EXPECT_EQ(gpus_of("#SBATCH --nodes=3 --tasks-per-node=4\nsrun python train.py"), 12);
  EXPECT_EQ(gpus_of("mpirun -np 64 -N 8 -x PATH python train.py"), 64);
  EXPECT_EQ(gpus_of("mpirun -npernode 8 python train.py"), 0);
  EXPECT_EQ(gpus_of("deepspeed --num_nodes 2 --num_gpus 8 train.py --deepspeed"), 16);
  EXPECT_EQ(
      gpus_of("printf 'a slots=8\\nb slots=8\\n' > hosts\ndeepspeed --hostfile hosts train.py"),
      16);
  const std::string pair = "printf 'a slots=8\\nb slots=8\\n' > hosts\ndeepspeed --hostfile hosts ";
  EXPECT_EQ(gpus_of(pair + "--num_gpus 4 train.py"), 8);
  EXPECT_EQ(gpus_of(pair + "--num_nodes 1 train.py"), 8);
  EXPECT_EQ(gpus_of(pair + "--num_nodes 3 train.py"), 0);
  EXPECT_EQ(gpus_of(pair + "--include b train.py"), 8);
  EXPECT_EQ(gpus_of(pair + "--include=a@b:0,2 train.py"), 10);
  EXPECT_EQ(gpus_of(pair + "--exclude b:0,1 train.py"), 14);
  EXPECT_EQ(gpus_of(pair + "--exclude c train.py"), 0);
  EXPECT_EQ(gpus_of("deepspeed --include localhost:0,1,2,3 train.py"), 4);
  EXPECT_EQ(gpus_of("deepspeed --include localhost train.py"), 0);
  EXPECT_EQ(gpus_of("deepspeed --exclude localhost:0 train.py"), 0);
  const spec::TestFile hosts("hosts", "a slots=4\n# b slots=8\nc slots=4\n");
  EXPECT_EQ(gpus_of("deepspeed --hostfile " + hosts.path + " train.py"), 8);
  EXPECT_EQ(gpus_of("accelerate launch --num_processes 8 --config_file a.yaml train.py"), 8);
  EXPECT_EQ(gpus_of("accelerate launch --multi_gpu -m pkg.train"), 0);
  EXPECT_EQ(gpus_of("python train.py"), 0);
  EXPECT_EQ(gpus_of("ls train"), -1);
}

/// What is said of the nodes on which nothing starts the program: "idle", "waits", or "" for none.
std::string other_nodes(const std::string& command) {
  const auto run =
      run_shell("#!/bin/bash\n#SBATCH -N 2\n#SBATCH --gpus-per-node=8\n" + command, "run.sh", {});
  if (!run || run->commands.empty()) return "not read";
  const auto launch = launch_of(run->commands.back(), *run);
  if (!launch || launch->idle_nodes == 0) return "";
  return launch->awaited_nodes > launch->started_on ? "waits" : "idle";
}

TEST(LaunchScript, OptionsAreCutShortOrMisspelt) {
  EXPECT_EQ(gpus_of("torchrun --nnode 2 --nproc_per_nod=4 train.py"), 8);
  EXPECT_EQ(gpus_of("deepspeed --num_node 2 --num_gpu 8 train.py"), 16);
  // Cut short it could be several; what is none of them is not taken for another.
  EXPECT_EQ(gpus_of("torchrun --nnodes 2 --nproc_per_nodes 8 train.py"), 0);
  EXPECT_EQ(gpus_of("#SBATCH -N 2 --ntask-per-nod=8\nsrun python train.py"), 0);
  // These read alike and are options of their own.
  EXPECT_EQ(gpus_of("#SBATCH -N 2 --ntasks-per-node=8 --cpus-per-task=8 --ntasks-per-core=1\n"
                    "srun --cpus-per-gpu 4 --nodelist a,b python train.py"),
            16);
}

TEST(ShellLaunch, ABatchScriptRunsOnTheFirstNode) {
  EXPECT_EQ(other_nodes("torchrun --nproc_per_node 8 train.py"), "idle");
  EXPECT_EQ(other_nodes("python -m torch.distributed.run --nproc_per_node 8 train.py"), "idle");
  EXPECT_EQ(other_nodes("python train.py"), "idle");
  EXPECT_EQ(other_nodes("accelerate launch --num_processes 8 train.py"), "idle");
  EXPECT_EQ(other_nodes("torchrun --nnodes 2 --nproc_per_node 8 train.py"), "waits");
  EXPECT_EQ(other_nodes("torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 train.py"), "waits");
  EXPECT_EQ(other_nodes("torchrun --nnodes 2:2 --nproc_per_node 8 train.py"), "waits");
  EXPECT_EQ(other_nodes("NNODES=2 llamafactory-cli train x.yaml"), "waits");
  // Axolotl reads no NNODES: its launcher's words count.
  const std::string axolotl = "--nproc_per_node 8 -m axolotl.cli.train x.yaml";
  EXPECT_EQ(other_nodes("torchrun --nnodes 2 " + axolotl), "waits");
  EXPECT_EQ(other_nodes("axolotl train x.yaml --launcher torchrun -- --nnodes 2"), "waits");
  EXPECT_EQ(other_nodes("export NNODES=2\ntorchrun " + axolotl), "idle");
  // More processes than the first node has GPUs.
  EXPECT_EQ(other_nodes("WORLD_SIZE=16 python train.py"), "waits");
  EXPECT_EQ(other_nodes("accelerate launch --num_processes 16 train.py"), "waits");
  // Without a hostfile DeepSpeed's launcher starts its own node's, and refuses others.
  EXPECT_EQ(other_nodes("deepspeed --num_gpus 8 train.py"), "idle");
  EXPECT_EQ(other_nodes("deepspeed --num_nodes 2 --num_gpus 8 train.py"), "waits");
  // srun starts it on as many as it is told of, and on no more than processes.
  EXPECT_EQ(other_nodes("srun -N 1 torchrun --nproc_per_node 8 train.py"), "idle");
  EXPECT_EQ(other_nodes("srun -N 1 torchrun --nnodes 2 --nproc_per_node 8 train.py"), "waits");
  EXPECT_EQ(other_nodes("srun --ntasks=1 torchrun --nnodes 2 --nproc_per_node 8 train.py"),
            "waits");
  EXPECT_EQ(other_nodes("srun -N 1 -n 1 -w b torchrun --nnodes 2 --nproc_per_node 8 train.py"), "");
  EXPECT_EQ(other_nodes("accelerate launch --config_file two.yaml train.py"), "idle");
  // These reach the others, or a program that is not known here may.
  for (const char* command :
       {"srun torchrun --nproc_per_node 8 train.py",
        "srun bash -c 'torchrun --nnodes 2 --nproc_per_node 8 train.py'",
        "mpirun -np 16 python train.py", "ssh other torchrun --nnodes 2 train.py",
        "deepspeed --hostfile elsewhere --num_nodes 2 --num_gpus 8 train.py",
        "printf 'a slots=8\\nb slots=8\\n' > hosts\ndeepspeed --hostfile hosts train.py",
        "ibrun torchrun --nnodes 2 --nproc_per_node 8 train.py"})
    EXPECT_EQ(other_nodes(command), "") << command;
}

constexpr std::string_view kModel =
    " --num-layers 2 --hidden-size 64 --num-attention-heads 2 --vocab-size 512 ";

// Two starts on a node each are the two nodes that both wait for.
TEST(LaunchScript, SeveralSrunsStartWhatIsAwaited) {
  const std::string start =
      "srun -N 1 -n 1 torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" +
      std::string(kModel) + "&\n";
  const auto others = [&](const std::string& starts) {
    const auto reading = parse_launch_script(
        "#!/bin/bash\n#SBATCH -N 4\n#SBATCH --gpus-per-node=8\n" + starts + "wait\n", "run.sh");
    std::string notes;
    if (reading)
      for (const std::string& note : reading->notes) notes += note + "\n";
    return reading ? notes : reading.error().message;
  };
  const std::string two = others(start + start);
  EXPECT_NE(two.find("on 2 of the batch's 4 nodes and not on the others: these idle"), two.npos)
      << two;
  const std::string one = others(start);
  EXPECT_NE(one.find("on 1 of the batch's 4 nodes and not on the others: it trains nothing"),
            one.npos)
      << one;
}

/// What is noted of a batch script of four nodes, a line each; or why it is refused.
std::string notes_of_batch(const std::string& script) {
  const auto reading = parse_launch_script(
      "#!/bin/bash\n#SBATCH -N 4\n#SBATCH --gpus-per-node=8\n" + script, "run.sh");
  if (!reading) return reading.error().message;
  std::string notes;
  for (const std::string& note : reading->notes) notes += note + "\n";
  return notes;
}

TEST(LaunchScript, TheSameJobSeveralTimesIsOneAndSaysSo) {
  const std::string model(kModel);
  const std::string start = "torchrun --nnodes 4 --nproc_per_node 8 pretrain_gpt.py" + model;
  const std::string thrice = ", 3 times one behind the other with the same settings";
  for (const std::string& script : {
           "srun " + start + "\nsrun " + start + "\nsrun " + start + "\n",
           "for seed in 1 2 3; do srun " + start + "--seed $seed; done\n",
           "train() { srun " + start + "--lr $1; }\ntrain 1e-4; train 2e-4; train 3e-4\n",
           "i=0\nwhile [ $i -lt 3 ]; do srun " + start + "; i=$((i + 1)); done\n",
       }) {
    const std::string notes = notes_of_batch(script);
    EXPECT_NE(notes.find("starts pretrain_gpt.py" + thrice), notes.npos) << script << notes;
  }
  EXPECT_NE(notes_of_batch("for i in $(seq 3000); do srun " + start + "; done\n")
                .find(", at least 2000 times one behind"),
            std::string::npos);
  // Behind so many programs another one is not dropped.
  const std::string copies = "for i in $(seq 2000); do scp data.$i node:; done\n";
  EXPECT_EQ(notes_of_batch(copies + "srun " + start),
            "run.sh:5: pretrain_gpt.py is started behind 2000 other programs, more than are "
            "followed");
  EXPECT_NE(notes_of_batch("srun " + start + "\n" + copies).find("starts pretrain_gpt.py"),
            std::string::npos);
  // Alternatives, retries until it works and launchers of other hosts are no repetitions.
  for (const std::string& script : {
           "if [ -d ckpt ]; then srun " + start + "--load ckpt; else srun " + start + "; fi\n",
           "until srun " + start + "; do sleep 60; done\n",
           "for try in 1 2 3; do srun " + start + " && break; done\n",
           "for h in a b; do ssh $h " + start + "; done\n",
           "for h in a b; do tmux new -d -s $h '" + start + "'; done\n",
       }) {
    const std::string notes = notes_of_batch(script);
    EXPECT_NE(notes.find("starts pretrain_gpt.py"), notes.npos) << script << notes;
    EXPECT_EQ(notes.find("one behind the other"), notes.npos) << script << notes;
  }
}

TEST(LaunchScript, OneBehindTheOtherIsNotOnMoreNodes) {
  const std::string start =
      "srun -N 1 -n 1 torchrun --nproc_per_node 8 pretrain_gpt.py" + std::string(kModel);
  // Each ends before the next starts: three nodes idle.
  const std::string twice = notes_of_batch(start + "\n" + start + "\n");
  EXPECT_NE(twice.find("on 1 of the batch's 4 nodes and not on the others: one node trains"),
            twice.npos)
      << twice;
  // The same words side by side are as many whole jobs.
  const std::string whole = notes_of_batch(start + "&\n" + start + "&\n" + start + "&\nwait\n");
  EXPECT_NE(whole.find("jobs of the same settings run beside it on 2 more nodes"), whole.npos)
      << whole;
  // Launchers that wait for each other are one job.
  const std::string ranks =
      "srun -N 1 -n 1 torchrun --nnodes 4 --nproc_per_node 8 pretrain_gpt.py" + std::string(kModel);
  const std::string one = notes_of_batch("for n in 1 2 3 4; do " + ranks + "& done\nwait\n");
  EXPECT_EQ(one.find("beside it"), one.npos) << one;
  EXPECT_EQ(one.find("not on the others"), one.npos) << one;
  // Seeds side by side, a node each.
  const std::string seeds =
      notes_of_batch("for seed in 1 2 3; do " + start + "--seed $seed & done\nwait\n");
  EXPECT_NE(seeds.find("jobs of the same settings run beside it on 2 more nodes"), seeds.npos);
  EXPECT_NE(seeds.find("on 3 of the batch's 4 nodes and not on the others: these idle"), seeds.npos)
      << seeds;
}

// What is queued gets nodes of its own when its turn comes; what `wait` stands between, is an
// alternative, or waits for free nodes does not run beside it.
TEST(LaunchScript, NothingIsSaidOfStartsThatAreNotOfOneTime) {
  const std::string start =
      "srun -N 1 -n 1 torchrun --nproc_per_node 8 pretrain_gpt.py" + std::string(kModel);
  const std::string large =
      "srun -N 3 -n 3 torchrun --nnodes 3 --nproc_per_node 8 pretrain_gpt.py" + std::string(kModel);
  for (const std::string& script : {
           "for s in 1 2; do sbatch -N 4 --wrap '" + start + "'; done\n",
           "for s in 1 2; do sbatch -N 4 --wrap \"" + start + "--seed $s\"; done\n",
           "for s in 1 2; do " + start + "--seed $s & wait $!; done\n",
           "for s in 1 2; do " + start + "& wait; done\n",
           "if [ -d ckpt ]; then " + start + "--load ckpt & else " + start + "& fi; wait\n",
           "for s in 1 2; do " + large + "--seed $s & done; wait\n",
           "for s in 1 2; do docker run -d image torchrun --nproc_per_node 8 pretrain_gpt.py" +
               std::string(kModel) + "; done\n",
       }) {
    const std::string notes = notes_of_batch(script);
    EXPECT_NE(notes.find("starts pretrain_gpt.py"), notes.npos) << script << notes;
    EXPECT_EQ(notes.find("one behind the other"), notes.npos) << script << notes;
    EXPECT_EQ(notes.find("beside it"), notes.npos) << script << notes;
    EXPECT_EQ(notes.find("on 2 of the batch's"), notes.npos) << script << notes;
  }
  // Of one list behind `&` each still waits for the one before.
  const std::string list = notes_of_batch("( " + start + "\n" + start + ") &\nwait\n");
  EXPECT_NE(list.find(", 2 times one behind the other"), list.npos) << list;
  EXPECT_NE(list.find("on 1 of the batch's 4 nodes"), list.npos) << list;
}

// Words that are added count before it is asked whether the starts differ.
TEST(LaunchScript, AddedWordsMakeOneJobOfSeveral) {
  const std::string script = "for tp in 1 2; do torchrun --nproc_per_node 8 pretrain_gpt.py" +
                             std::string(kModel) + "--tensor-model-parallel-size $tp; done\n";
  ScriptContext context;
  EXPECT_FALSE(parse_launch_script(script, "run.sh", context));
  context.more = {"--tensor-model-parallel-size", "2"};
  const auto reading = parse_launch_script(script, "run.sh", context);
  ASSERT_TRUE(reading) << reading.error().message;
  EXPECT_EQ(reading->settings.find("tensor_model_parallel_size")->text, "2");
}

/// A setting of a script, or why the script is refused.
std::string said_by(const std::string& script, std::string_view setting) {
  const auto reading = parse_launch_script(script, "run.sh");
  if (!reading) return reading.error().message;
  const auto* value = reading->settings.find(setting);
  return value == nullptr ? "" : value->text;
}

// A program whose parser stops there trains nothing, and no other job is predicted in its place.
TEST(LaunchScript, WordsThatNoParserTakes) {
  const std::string start = "torchrun --nproc_per_node 8 pretrain_gpt.py" + std::string(kModel);
  const auto answer = [&](const std::string& more) {
    return said_by(start + more + "\n", "tensor_model_parallel_size");
  };
  EXPECT_EQ(answer("--tensor-model-parallel-size 4"), "4");
  for (const char* dashes : {"-", "\u2014", "\u2212\u2212", "\u2013-"})
    EXPECT_EQ(answer(std::string(dashes) + "tensor-model-parallel-size 4"),
              "run.sh:1: " + std::string(dashes) +
                  "tensor-model-parallel-size: an option begins with two plain dashes; allowed: "
                  "--tensor-model-parallel-size");
  EXPECT_NE(answer("'--tensor-model-parallel-size 4'").find("is one word"), std::string::npos);
  EXPECT_NE(answer("--tensor-parallel-size 4").find("this size of parallelism is not read"),
            std::string::npos);
  // It may be the value of an option of the program's own.
  EXPECT_EQ(answer("--worker-words '--tensor-model-parallel-size 4'"), "");
  // What has no effect may be written as it likes, and a negative number is a value.
  EXPECT_EQ(answer("-v --tensor-parallel-size 1 --seed -1 --tensor-model-parallel-size 2"), "2");
  EXPECT_NE(said_by("python run_clm.py --model_name_or_path gpt2 --per_device_train_batch 2\n",
                    "micro_batch_size")
                .find("--per_device_train_batch_size, written in full"),
            std::string::npos);
  // LLaMA-Factory's own name is the beginning of PEFT's.
  EXPECT_EQ(said_by("deepspeed train_bash.py --model_name_or_path gpt2 --finetuning_type lora "
                    "--lora_target q_proj,v_proj --per_device_train_batch_size 2\n",
                    "micro_batch_size"),
            "2");
}

TEST(LaunchScript, GpusOfSeveralPartsAndOfTasks) {
  const std::string model(kModel), program = " python pretrain_gpt.py" + model;
  const std::string torchrun = " torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + model;
  EXPECT_EQ(said_by("mpirun -np 8 -H a" + program + ": -np 4 -H b" + program + "\n", "gpus"), "12");
  EXPECT_EQ(said_by("mpirun -np 8" + program + ": -np 2 python serve.py\n", "gpus"), "");
  EXPECT_EQ(said_by("srun -n 1 python serve.py : -n 8" + program + "--bf16\n", "bf16"), "true");
  EXPECT_EQ(said_by("mpirun -np 1" + torchrun + ": -np 1" + torchrun + "\n", "gpus"), "16");
  const auto batch = [&](const std::string& lines, const std::string& srun) {
    return said_by("#!/bin/bash\n#SBATCH " + lines + "\n" + srun + program + "\n", "gpus");
  };
  EXPECT_EQ(batch("-N 4 --gpus-per-node=4 --ntasks-per-gpu=1", "srun"), "16");
  EXPECT_EQ(batch("--gpus=16 --gpus-per-task=2", "srun"), "8");
  EXPECT_EQ(batch("-N 2 --gpus-per-node=8", "srun --ntasks-per-gpu=1"), "16");
  EXPECT_EQ(batch("-N 2 -n 4 --gpus=16 --gpus-per-task=2", "srun"), "4");
}

TEST(LaunchScript, CommandsUnderOtherNames) {
  const std::string program = " pretrain_gpt.py" + std::string(kModel) + "\n";
  EXPECT_EQ(said_by("torchrun() { command torchrun --nnodes 4 \"$@\"; }\ntorchrun "
                    "--nproc_per_node 8" +
                        program,
                    "gpus"),
            "32");
  const std::string alias = "alias torchrun='torchrun --nnodes 4'\ntorchrun --nproc_per_node 8";
  EXPECT_EQ(said_by(alias + program, "gpus"), "8");
  EXPECT_EQ(said_by("shopt -s expand_aliases\n" + alias + program, "gpus"), "32");
  EXPECT_EQ(said_by("#!/bin/sh -e\n" + alias + program, "gpus"), "32");
  EXPECT_EQ(said_by("#!/bin/bash\n" + alias + program, "gpus"), "8");
  // Of the first word as it is written alone.
  for (const char* start : {"\\torchrun", "exec torchrun", "$LAUNCH"})
    EXPECT_EQ(said_by("#!/bin/sh\nLAUNCH=torchrun\nalias torchrun='torchrun --nnodes 4'\n" +
                          std::string(start) + " --nproc_per_node 8" + program,
                      "gpus"),
              "8")
        << start;
  // A blank at its end: the next word may be an alias too.
  EXPECT_EQ(
      said_by("#!/bin/sh\nalias go='nice '\nalias run='torchrun --nnodes 4'\ngo run" + program,
              "gpus"),
      "run.sh:4: go is an alias, which is not followed; write out what it stands for");
  // Of an inner shell's own.
  EXPECT_EQ(said_by("#!/bin/sh\nalias torchrun='torchrun --nnodes 4'\nbash -c 'torchrun "
                    "--nproc_per_node 8" +
                        program.substr(0, program.size() - 1) + "'\n",
                    "gpus"),
            "8");
  EXPECT_EQ(said_by("#!/usr/bin/env sh\nalias run='torchrun --nnodes $N'\nrun" + program, "gpus"),
            "run.sh:3: run is an alias, which is not followed; write out what it stands for");
}

TEST(LaunchScript, XargsPutsWordsIntoTheirPlace) {
  const std::string start = "torchrun --nproc_per_node 8 pretrain_gpt.py" + std::string(kModel);
  const std::string size = "tensor_model_parallel_size";
  EXPECT_EQ(said_by("echo 4 | xargs -I{} " + start + "--tensor-model-parallel-size {}\n", size),
            "4");
  EXPECT_EQ(said_by("echo 4 2 | xargs -n1 -I V bash -c 'set -- V; " + start +
                        "--tensor-model-parallel-size $2'\n",
                    size),
            "2");
  EXPECT_EQ(said_by("echo 4 | xargs " + start + "--tensor-model-parallel-size\n", size), "4");
  // A line's words, words between other marks, and nothing where it starts nothing.
  EXPECT_EQ(said_by("printf '4 --bf16\\n' | xargs -L 1 " + start + "--tensor-model-parallel-size\n",
                    size),
            "4");
  EXPECT_EQ(
      said_by("echo -n 4,--bf16 | xargs -d, " + start + "--tensor-model-parallel-size\n", size),
      "4");
  const std::string once = start + "--tensor-model-parallel-size 2\n";
  EXPECT_EQ(said_by("echo '' | xargs " + once, size), "2");
  EXPECT_EQ(
      said_by("echo '' | xargs -r " + start + "--tensor-model-parallel-size 8\n" + once, size),
      "2");
  EXPECT_NE(said_by("echo 2 4 | xargs -n 1 " + start + "--tensor-model-parallel-size\n", size)
                .find("is started 2 times with other words"),
            std::string::npos);
}

TEST(LaunchScript, JobsOnOtherGpusOfANodeAreTold) {
  const std::string program = " pretrain_gpt.py" + std::string(kModel);
  const auto told = [&](const std::string& script) {
    const auto reading = parse_launch_script(script + "wait\n", "run.sh");
    std::string notes = reading ? "" : reading.error().message;
    if (reading)
      for (const std::string& note : reading->notes) notes += note + "\n";
    return notes.find("2 more jobs of the same settings run beside it on other GPUs") !=
           std::string::npos;
  };
  const auto on = [&](const std::string& gpus, const std::string& more) {
    return "CUDA_VISIBLE_DEVICES=" + gpus + " torchrun --nproc_per_node 2 " + more + program;
  };
  EXPECT_TRUE(told(on("0,1", "") + "&\n" + on("2,3", "") + "&\n" + on("4,5", "") + "&\n"));
  EXPECT_TRUE(told("for g in 0 1 2; do deepspeed --include localhost:$g" + program + "& done\n"));
  // One behind the other, and the ranks of one job.
  EXPECT_FALSE(told(on("0,1", "") + "\n" + on("2,3", "") + "\n" + on("4,5", "") + "\n"));
  const std::string three = "--nnodes 3";
  EXPECT_FALSE(
      told(on("0,1", three) + "&\n" + on("2,3", three) + "&\n" + on("4,5", three) + "&\n"));
}

TEST(LaunchScript, DifferentJobsOfALoopAreRefused) {
  const std::string model(kModel);
  const std::string start = "srun torchrun --nnodes 4 --nproc_per_node 8 pretrain_gpt.py" + model;
  EXPECT_EQ(notes_of_batch("for tp in 1 2; do " + start + "--tensor-model-parallel-size $tp; done"),
            "run.sh:4: pretrain_gpt.py is started 2 times with other words: "
            "--tensor-model-parallel-size 1, and --tensor-model-parallel-size 2; keep one of them "
            "alone");
  EXPECT_EQ(notes_of_batch(start + "\n" + start + "--fp8-format hybrid\n"),
            "run.sh: starts 2 different jobs: pretrain_gpt.py (run.sh:4), pretrain_gpt.py "
            "(run.sh:5); --script-line N takes the one that is started there");
  // What cannot be read of any is told, not that the runs differ in their seeds.
  const std::string missing = notes_of_batch(
      "for seed in 1 2; do srun torchrun --nnodes 4 --nproc_per_node 8 -m torchtitan.train "
      "--job.config_file none.toml --training.seed $seed; done");
  EXPECT_NE(missing.find("none.toml"), missing.npos) << missing;
}

std::string error_of(const std::string& script) {
  const auto reading = parse_launch_script(script, "run.sh");
  return reading ? "read" : reading.error().message;
}

TEST(LaunchScript, TheTrainingAmongSeveralPrograms) {
  const std::string model(kModel);
  const auto reading = parse_launch_script(
      "python tools/preprocess_data.py --num-layers 9 --hidden-size 9\n"
      "torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 4" +
          model,
      "run.sh");
  ASSERT_TRUE(reading) << reading.error().message;
  EXPECT_EQ(reading->settings.find("tensor_model_parallel_size")->text, "4");
  EXPECT_EQ(reading->settings.find("gpus")->text, "8");
  EXPECT_EQ(reading->notes.front(), "run.sh:2 starts pretrain_gpt.py");

  const std::string two = "for t in 1 2; do torchrun pretrain_gpt.py --tp $t" + model + "; done\n";
  EXPECT_EQ(
      error_of(two),
      "run.sh:1: pretrain_gpt.py is started 2 times with other words: --tp 1, and --tp 2; keep one "
      "of them alone");
  const std::string lines =
      "torchrun pretrain_gpt.py --tp 1" + model + "\ntorchrun pretrain_gpt.py --tp 2";
  EXPECT_EQ(
      error_of(lines + model),
      "run.sh: starts 2 different jobs: pretrain_gpt.py (run.sh:1), pretrain_gpt.py (run.sh:2); "
      "--script-line N takes the one that is started there");
  // The same job on every node is one job.
  EXPECT_EQ(
      error_of("for h in a b; do ssh $h torchrun pretrain_gpt.py --bf16" + model + "; done\n"),
      "read");
}

TEST(LaunchScript, WhatCountsAndIsNotKnownIsRefused) {
  const std::string model(kModel);
  EXPECT_EQ(error_of("TP=$(nvidia-smi -L | wc -l)\ntorchrun pretrain_gpt.py" + model +
                     "--tensor-model-parallel-size $TP\n"),
            "run.sh:2: --tensor-model-parallel-size depends on $(nvidia-smi -L) at run.sh:1, which "
            "is not "
            "known here");
  EXPECT_EQ(
      error_of("[ -f /x/y ] && F=--recompute-activations\ntorchrun pretrain_gpt.py" + model + "$F"),
      "run.sh:2: whether --recompute-activations stands here depends on what is true at "
      "run.sh:1: [ -f /x/y ], which is not known here");
  // What does not count may be anything.
  EXPECT_EQ(error_of("[ -f /x/y ] && F='--load /x'\ntorchrun pretrain_gpt.py --save $(date)" +
                     model + "$F"),
            "read");
  EXPECT_EQ(error_of("source site.sh\ntorchrun pretrain_gpt.py" + model + "$MORE"),
            "run.sh:2: the words here are those of $MORE, which site.sh may set, and that is not "
            "here");
  EXPECT_EQ(error_of("torchrun pretrain_gpt.py --bf16\n  --num-layers 2\n"),
            "run.sh:2: --num-layers stands alone: does the line before it lack a backslash at its "
            "end?");
}

TEST(LaunchScript, WordsOfUnknownNumber) {
  const std::string start = "torchrun pretrain_gpt.py" + std::string(kModel);
  for (const char* words :
       {"--save ckpt $(cat a.args)", "--mock-data $(cat a.args)", "--save=x $(cat a.args)"})
    EXPECT_EQ(error_of(start + words),
              "run.sh:1: the words here are those of the file a.args, which is not here")
        << words;
  // One that prints a word is a value.
  EXPECT_EQ(error_of(start + "--lr $(echo 'scale=6; 4.5/3' | bc -l) --bf16"), "read");
  // Jobs that differ in names alone are one.
  EXPECT_EQ(error_of("for lr in 1 2; do " + start + "--lr $lr --save $lr; done"), "read");
}

TEST(LaunchScript, WhatIsNotRead) {
  const auto open = parse_launch_script(
      "torchrun --nnodes $N --nproc_per_node 8 pretrain_gpt.py --bf16" + std::string(kModel),
      "run.sh");
  ASSERT_TRUE(open) << open.error().message;
  EXPECT_EQ(open->settings.find("gpus"), nullptr);
  EXPECT_EQ(
      error_of("torchrun pretrain_bert.py --bf16" + std::string(kModel)),
      "run.sh:1: pretrain_bert.py trains no decoder of text alone, which is all that is modelled");
  EXPECT_EQ(error_of("torchrun -m torchtitan.train --x.y 1"),
            "run.sh:1: torchtitan.train without --job.config_file: which file it takes is not "
            "known here");
}

TEST(LaunchScript, RelativesOfMegatron) {
  const auto reading = parse_launch_script(
      "cat > ds.json <<E\n{\"zero_optimization\": {\"stage\": 2}, \"optimizer\": {\"params\": "
      "{\"lr\": "
      "$(python lr.py)}}}\nE\n"
      "deepspeed --num_gpus 8 pretrain_gpt.py --num-key-value-heads 1 --normalization rmsnorm "
      "--use-rotary-position-embeddings --no-position-embedding --ds-sequence-parallel-size 4 "
      "--activations-checkpoint-method uniform --deepspeed --deepspeed_config ds.json" +
          std::string(kModel),
      "run.sh");
  ASSERT_TRUE(reading) << reading.error().message;
  const auto value = [&](const char* name) {
    const auto* found = reading->settings.find(name);
    return found == nullptr ? std::string("-") : found->text;
  };
  EXPECT_EQ(value("zero"), "2");
  EXPECT_EQ(value("context_parallel_size"), "4");
  EXPECT_EQ(value("cp_comm_type"), "a2a");
  EXPECT_EQ(value("recompute_granularity"), "full");
  for (const char* part : {"\"num_query_groups\":1", "\"normalization\":\"RMSNorm\"",
                           "\"position_embedding_type\":\"rope\""})
    EXPECT_NE(value("model").find(part), std::string::npos) << value("model");
}

TEST(LaunchScript, ProgramsThatWereStarted) {
  const auto reading =
      read_started_programs({{{"srun", "-N", "2", "bash", "-c",
                               "torchrun --nnodes 2 --nproc_per_node $G pretrain_gpt.py" +
                                   std::string(kModel) + "--bf16"},
                              {{"G", "4"}}}},
                            "bash run.sh", {});
  ASSERT_TRUE(reading) << reading.error().message;
  EXPECT_EQ(reading->settings.find("gpus")->text, "8");
  EXPECT_EQ(read_started_programs({{{"srun", "hostname"}, {}}}, "bash run.sh", {}).error().message,
            "bash run.sh: none of the programs that it starts trains a model");
}

// Another program runs the command, which may say more than the variables do.
TEST(LaunchScript, ACommandWithinATextIsNoListOfArguments) {
  const std::string sizes = "M='--num-layers 24 --hidden-size 2048'\n";
  const auto about = [&](const std::string& line) { return error_of(sizes + line + "\n"); };
  for (const char* line :
       {"bsub -zz 8 \"torchrun pretrain_gpt.py $M --bf16\"",
        "expect -c 'spawn python3 a.py --bf16'", "tmux pipe-pane \"torchrun a.py $M\"",
        "python -c \"import os; os.system('torchrun a.py $M')\""})
    EXPECT_NE(about(line).find("is started by a text that another program runs"), std::string::npos)
        << line << '\n'
        << about(line);
  EXPECT_NE(about(". $(pwd)/no_such.sh").find("no_such.sh, which is not here, and starts no"),
            std::string::npos);
}

TEST(LaunchScript, FollowsNoOtherShell) {
  EXPECT_EQ(error_of("#!/bin/zsh\ntorchrun pretrain_gpt.py --bf16\n"),
            "run.sh:1: a script of zsh; allowed: of bash or sh, which are followed");
  EXPECT_NE(error_of("#!/usr/bin/env tcsh\nset a = 1\n").find("a script of tcsh"),
            std::string::npos);
}

TEST(LaunchScript, WordsOfLightningThatAreNotKnown) {
  const spec::TestFile fit("fit.yaml",
                           "seed_everything: 1\ntrainer: {devices: 8, num_nodes: 1}\n"
                           "model: {class_path: a.B}\ndata: {class_path: a.C}\n");
  const auto of = [&](const std::string& words) {
    return base::error_of(parse_launch_script(
        "srun python -m own.train fit --config " + fit.path + " " + words + "\n", "run.sh"));
  };
  EXPECT_NE(of("--trainer.num_nodes $(my_nodes)").find("--trainer.num_nodes depends on"),
            std::string::npos);
  EXPECT_NE(of("--config " + fit.path).find("takes several --config"), std::string::npos);
}

}  // namespace
}  // namespace ergometer::intake
