#pragma once

#include <array>
#include <string_view>

#include "spec/settings/setting_names.h"

// Names of the settings that a search decides, and of their values.
namespace ergometer::search {

using spec::kCp;
using spec::kDp;
using spec::kEp;
using spec::kEtp;
using spec::kPp;
using spec::kSp;
using spec::kTp;
using spec::kVpp;
inline constexpr std::string_view kSchedule = "schedule";
inline constexpr std::string_view kMicroBatch = "micro_batch_size";
inline constexpr std::string_view kZero = "zero";
inline constexpr std::string_view kFullySharded = "fsdp";
inline constexpr std::string_view kRecompute = "recompute_granularity";
inline constexpr std::string_view kMethod = "recompute_method";
inline constexpr std::string_view kDepth = "recompute_num_layers";
inline constexpr std::string_view kModules = "recompute_modules";
inline constexpr std::string_view kGradients = "overlap_grad_reduce";
inline constexpr std::string_view kParameters = "overlap_param_gather";
inline constexpr std::string_view kTensorOverlap = "tp_comm_overlap";
inline constexpr std::string_view kP2pOverlap = "overlap_p2p";
inline constexpr std::string_view kExpertOverlap = "overlap_moe_expert_parallel_comm";
inline constexpr std::string_view kSharedOverlap = "moe_shared_expert_overlap";

/// Settings that a search decides where the user does not.
inline constexpr std::array kAxes = {kTp,
                                     kPp,
                                     kVpp,
                                     kCp,
                                     kEp,
                                     kEtp,
                                     kDp,
                                     kSp,
                                     kSchedule,
                                     kMicroBatch,
                                     kZero,
                                     kFullySharded,
                                     kRecompute,
                                     kMethod,
                                     kDepth,
                                     kModules,
                                     kGradients,
                                     kParameters,
                                     kTensorOverlap,
                                     kP2pOverlap,
                                     kExpertOverlap,
                                     kSharedOverlap};

/// What else describes one layout and fits no other.
inline constexpr std::array<std::string_view, 12> kOfOneLayout = {
    "gradient_accumulation_steps",
    "num_layers_per_virtual_pipeline_stage",
    "microbatch_group_size_per_virtual_pipeline_stage",
    "decoder_first_pipeline_num_layers",
    "decoder_last_pipeline_num_layers",
    "account_for_embedding_in_pipeline_split",
    "account_for_loss_in_pipeline_split",
    "stage_layers",
    "pipeline_model_parallel_layout",
    "recompute_stage_layers",
    "fsdp_shard_size",
    "schedule_file"};

/// Of these, what says how layers are divided.
inline constexpr std::array<std::string_view, 6> kSaysSplit = {
    "decoder_first_pipeline_num_layers",
    "decoder_last_pipeline_num_layers",
    "account_for_embedding_in_pipeline_split",
    "account_for_loss_in_pipeline_split",
    "stage_layers",
    "pipeline_model_parallel_layout"};

/// Of these, what a search sets itself for every layout, so that it cannot be fixed.
inline constexpr std::array<std::string_view, 5> kSetByLayout = {
    "num_layers_per_virtual_pipeline_stage", "microbatch_group_size_per_virtual_pipeline_stage",
    "recompute_stage_layers", "fsdp_shard_size", "schedule_file"};

/// The schedules that are searched, those of which time and memory can be estimated.
inline constexpr std::array<std::string_view, 4> kSchedules = {"1f1b", "interleaved", "gpipe",
                                                               "zb-h1"};

}  // namespace ergometer::search
