#include "spec/files/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/csv.h"
#include "base/file.h"
#include "base/text.h"
#include "spec/catalog/read.h"
#include "spec/files/nemo.h"
#include "spec/recipe/recipe.h"

namespace ergometer::spec {
namespace {

constexpr size_t kLargestMatrix = 64 << 20;

/// Columns that hold the value of one key of the row's NeMo file.
struct Column {
  std::string_view column, key;
};
constexpr std::array kColumns = std::to_array<Column>({
    {"trainer_num_nodes", "trainer.num_nodes"},
    {"trainer_devices", "trainer.devices"},
    {"precision", "trainer.precision"},
    {"layers", "model.num_layers"},
    {"hidden", "model.hidden_size"},
    {"heads", "model.num_attention_heads"},
    {"kv_groups", "model.num_query_groups"},
    {"ffn", "model.ffn_hidden_size"},
    {"seq_len", "model.encoder_seq_length"},
    {"data_seq_len", "model.data.seq_length"},
    {"max_pos", "model.max_position_embeddings"},
    {"experts", "model.num_moe_experts"},
    {"topk", "model.moe_router_topk"},
    {"moe_capacity_factor", "model.moe_expert_capacity_factor"},
    {"moe_pad_to_capacity", "model.moe_pad_expert_input_to_capacity"},
    {"moe_dispatcher", "model.moe_token_dispatcher_type"},
    {"moe_grouped_gemm", "model.moe_grouped_gemm"},
    {"tokenizer", "model.tokenizer.type"},
    {"vocab_divisible_by", "model.make_vocab_size_divisible_by"},
    {"activation", "model.activation"},
    {"norm", "model.normalization"},
    {"pos_emb", "model.position_embedding_type"},
    {"TP", "model.tensor_model_parallel_size"},
    {"PP", "model.pipeline_model_parallel_size"},
    {"VPP", "model.virtual_pipeline_model_parallel_size"},
    {"CP", "model.context_parallel_size"},
    {"EP", "model.expert_model_parallel_size"},
    {"sequence_parallel", "model.sequence_parallel"},
    {"fsdp", "model.fsdp"},
    {"fsdp_strategy", "model.fsdp_sharding_strategy"},
    {"fsdp_grad_dtype", "model.fsdp_grad_reduce_dtype"},
    {"micro_batch", "model.micro_batch_size"},
    {"global_batch", "model.global_batch_size"},
    {"recompute_granularity", "model.activations_checkpoint_granularity"},
    {"recompute_method", "model.activations_checkpoint_method"},
    {"recompute_num_layers", "model.activations_checkpoint_num_layers"},
    {"tp_comm_overlap", "model.ub_tp_comm_overlap"},
    {"overlap_grad_sync", "model.optim.overlap_grad_sync"},
    {"overlap_param_sync", "model.optim.overlap_param_sync"},
    {"optimizer", "model.optim.name"},
    {"bucket_cap_mb", "model.optim.bucket_cap_mb"},
    {"grad_sync_dtype", "model.optim.grad_sync_dtype"},
    {"grad_accum_fusion", "model.gradient_accumulation_fusion"},
    {"flash_attn", "model.use_flash_attention"},
    {"peft", "model.peft.peft_scheme"},
    {"lora_dim", "model.peft.lora_tuning.adapter_dim"},
    {"tokens_to_generate", "inference.tokens_to_generate"},
});

/// Columns that are read for what the files around the NeMo file say.
constexpr std::array kOtherColumns = std::to_array<std::string_view>({
    "family",
    "dir_model",
    "model",
    "config_id",
    "gpu",
    "nodes",
    "zeus_dir",
    "cfg_path_in_sh",
    "label_true",
    "label_in_figure_scripts",
    "flags",
    "yaml",
    "variant",
    "DP",
});

using base::CsvTable;

int line_of(const CsvTable& table, size_t row) { return static_cast<int>(table.rows[row].line); }

Result<CsvTable> parse_table(std::string_view csv, const std::string& file) {
  if (csv.empty()) return input_error("{}: is empty; expected a matrix of configurations", file);
  ERGOMETER_ASSIGN(CsvTable table, base::parse_csv(csv, file));
  std::vector<std::string_view> needed(kOtherColumns.begin(), kOtherColumns.end());
  for (const Column& column : kColumns) needed.push_back(column.column);
  ERGOMETER_TRY(base::require_columns(table, file, needed));
  if (table.rows.empty()) return input_error("{}: holds no configuration under its header", file);
  return table;
}

/// A cell as the NeMo file has it: without the matrix's "(default)", Python's words in YAML's
/// spelling.
std::string yaml_value(std::string_view cell) {
  constexpr std::string_view kDefault = "(default)";
  if (cell.ends_with(kDefault)) cell.remove_suffix(kDefault.size());
  if (cell == "True") return "true";
  if (cell == "False") return "false";
  return std::string(cell);
}

FlatYaml nemo_values(const CsvTable& table, size_t row) {
  FlatYaml values;
  for (const Column& column : kColumns)
    if (const std::string value = yaml_value(table.cell(row, column.column)); !value.empty())
      values[std::string(column.key)] = {value, line_of(table, row)};
  values["run.name"] = {std::string(table.cell(row, "model")), line_of(table, row)};
  // The matrix has no column for these; the two kinds of models in it are published with and
  // without them.
  const bool llama = values["model.activation"].text != "gelu";
  values["model.bias"] = {llama ? "false" : "true", line_of(table, row)};
  values["model.share_embeddings_and_output_weights"] = {llama ? "false" : "true",
                                                         line_of(table, row)};
  values["model.hidden_dropout"] = {llama ? "0.0" : "0.1", line_of(table, row)};
  if (table.cell(row, "peft") == "none") values.erase("model.peft.lora_tuning.adapter_dim");
  return values;
}

std::string_view folder_of(std::string_view path) {
  return path.substr(0, std::min(path.rfind('/'), path.size()));
}

/// Differences between the row's sizes and the published model's that it is named after.
std::optional<std::string> wrong_dimensions(const CsvTable& table, size_t row) {
  const std::string name(table.cell(row, "model"));
  if (find_in_catalog(CatalogKind::kModel, name) == nullptr) return std::nullopt;
  const auto published = read_model(name);
  if (!published) return std::nullopt;
  const std::array sizes = {std::tuple("hidden", published->hidden, "hidden_size"),
                            std::tuple("layers", published->layer_count(), "num_layers"),
                            std::tuple("heads", published->heads, "num_attention_heads"),
                            std::tuple("ffn", published->ffn, "ffn_hidden_size")};
  for (const auto& [column, expected, key] : sizes)
    if (table.cell(row, column) != std::to_string(expected))
      return fmt::format("{} = {} is not {}'s, which is {} (wrong-model-dims)", key,
                         table.cell(row, column), name, expected);
  return std::nullopt;
}

/// The contradictions between the row's files, the gravest first.
std::vector<std::string> contradictions_of(const CsvTable& table, size_t row) {
  const auto cell = [&](std::string_view column) { return table.cell(row, column); };
  std::vector<std::string> found;
  if (cell("dir_model") != cell("model"))
    found.push_back(
        fmt::format("a configuration of {} lies in the folder of {} (stray-copy-of-other-model)",
                    cell("model"), cell("dir_model")));
  if (auto wrong = wrong_dimensions(table, row)) found.push_back(*std::move(wrong));
  if (cell("cfg_path_in_sh") != folder_of(cell("yaml")))
    found.push_back(fmt::format(
        "the job script starts the configuration in {}, not this one (sh-uses-other-config-dir)",
        cell("cfg_path_in_sh")));
  if (cell("trainer_num_nodes") != cell("nodes"))
    found.push_back(fmt::format(
        "trainer.num_nodes = {}, but the job script allocates {} nodes (trainer.num_nodes!=sbatch)",
        cell("trainer_num_nodes"), cell("nodes")));
  return found;
}

/// Overlap that is switched on (variant 1xxxx) and changes nothing.
bool overlap_is_noop(const CsvTable& table, size_t row, const Settings& settings) {
  if (!table.cell(row, "variant").starts_with('1')) return false;
  const bool tensor = settings.find("tp_comm_overlap")->text == "true";
  const Settings::Value* gradients = settings.find("overlap_grad_reduce");
  const bool data =
      gradients != nullptr && gradients->text == "true" && table.cell(row, "DP") != "1";
  return !tensor && !data;
}

/// The last part of a telemetry folder is the configuration's, unless it was copied.
bool telemetry_elsewhere(const CsvTable& table, size_t row) {
  const std::string_view zeus = table.cell(row, "zeus_dir");
  const std::string own = fmt::format("results/{}/{}/{}", table.cell(row, "family"),
                                      table.cell(row, "dir_model"), table.cell(row, "config_id"));
  return !zeus.empty() && zeus != own;
}

void add_notes(const CsvTable& table, size_t row, MatrixRow& result) {
  if (overlap_is_noop(table, row, result.settings))
    result.notes.push_back(
        "the overlap that this variant switches on changes nothing (cc-variant-is-noop)");
  const std::string_view label = table.cell(row, "label_in_figure_scripts");
  if (!label.empty() && label != table.cell(row, "label_true"))
    result.notes.push_back(
        fmt::format("the study's figures label it {}; it is {} (figure-label-wrong)", label,
                    table.cell(row, "label_true")));
  if (telemetry_elsewhere(table, row))
    result.notes.push_back(fmt::format("its telemetry would go to {} (zeus-dir!=log-dir)",
                                       table.cell(row, "zeus_dir")));
}

/// The study's cluster of a kind of GPU.
Result<std::string> testbed(const CsvTable& table, size_t row, const std::string& file) {
  const std::string_view gpu = table.cell(row, "gpu");
  if (gpu == "H200") return "charllm-h200";
  if (gpu == "H100") return "charllm-h100";
  if (gpu == "MI250") return "charllm-mi250";
  return input_error("{}:{}: gpu: found \"{}\"; allowed: H100, H200, MI250", file,
                     line_of(table, row), gpu);
}

}  // namespace

Result<std::vector<MatrixRow>> parse_matrix(std::string_view csv, const std::string& file) {
  ERGOMETER_ASSIGN(const CsvTable table, parse_table(csv, file));
  std::vector<MatrixRow> rows;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    MatrixRow result;
    result.family = table.cell(row, "family");
    result.config_id = table.cell(row, "config_id");
    result.model = table.cell(row, "dir_model");
    result.yaml = table.cell(row, "yaml");
    for (const std::string_view flag : base::split(table.cell(row, "flags"), '|'))
      if (!flag.empty()) result.flags.emplace_back(flag);
    result.contradictions = contradictions_of(table, row);
    if (!result.contradictions.empty()) result.refusal = result.contradictions.front();
    std::vector<std::string> ignored;
    ERGOMETER_ASSIGN(result.settings,
                     settings_from_nemo(nemo_values(table, row), file, ignored, result.notes));
    // The study ran Megatron-LM and NeMo as their arguments leave them, of releases that it does
    // not name.
    set_framework(result.settings, "megatron-lm-tuned", file);
    ERGOMETER_ASSIGN(std::string cluster, testbed(table, row, file));
    result.settings.set("cluster", std::move(cluster),
                        Origin{fmt::format("{}:{}", file, line_of(table, row)), "gpu"});
    add_notes(table, row, result);
    rows.push_back(std::move(result));
  }
  return rows;
}

Result<std::vector<MatrixRow>> read_matrix(const std::string& name_or_path) {
  if (const CatalogEntry* entry = find_in_catalog(CatalogKind::kStudy, name_or_path))
    return parse_matrix(entry->text, std::string(entry->path));
  ERGOMETER_ASSIGN(const std::string text, base::read_file(name_or_path, kLargestMatrix));
  return parse_matrix(text, name_or_path);
}

}  // namespace ergometer::spec
