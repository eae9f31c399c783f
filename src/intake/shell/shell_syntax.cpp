#include "intake/shell/shell_syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/collection.h"
#include "base/text.h"

namespace ergometer::intake {
namespace {

using Kind = ShellNode::Kind;

constexpr int kDeepest = 100;
constexpr size_t kMostRedirections = 60;
constexpr std::string_view kMeta = " \t\n;&|<>()";

/// Depth of the recursion below: input that nests without end must not end the stack.
class Depth {
 public:
  explicit Depth(int& count) : count_(++count) {}
  ~Depth() { --count_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  int& count_;
};

class ShellParser {
 public:
  ShellParser(std::string_view text, const std::string& file, int line, bool counts)
      : text_(text), file_(file), line_(line), counts_(counts) {}

  Result<ShellTree> parse() {
    ShellTree list = parse_list({});
    if (!failed() && at_ < text_.size())
      fail(line_, fmt::format("\"{}\" stands where no command can begin", peek_word()));
    if (failed()) return input_error("{}:{}: {}", file_, error_line_ % kLinesOfFile, error_);
    return list;
  }

 private:
  using Node = std::shared_ptr<ShellNode>;

  bool failed() const { return !error_.empty(); }
  void fail(int line, std::string what) {
    if (failed()) return;
    error_line_ = line;
    error_ = std::move(what);
    at_ = text_.size();
  }
  Node node(Kind kind) const {
    auto made = std::make_shared<ShellNode>();
    made->kind = kind;
    made->line = line_;
    return made;
  }
  bool starts(std::string_view word) const { return text_.substr(at_, word.size()) == word; }
  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void advance_to(size_t end) {
    end = std::min(end, text_.size());
    if (counts_)
      line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                           text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    at_ = end;
  }
  void skip_blanks() {
    while (at_ < text_.size()) {
      if (here() == ' ' || here() == '\t')
        ++at_;
      else if (starts("\\\n"))
        advance_to(at_ + 2);
      else if (here() == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else
        break;
    }
  }
  /// Ends of lines, with the here-documents that begin behind them.
  void skip_newlines() {
    for (skip_blanks(); here() == '\n' && at_ < text_.size(); skip_blanks()) end_line();
  }
  void end_line() {
    advance_to(at_ + 1);
    for (ShellRedirection* document : documents_) read_document(*document);
    documents_.clear();
  }
  void read_document(ShellRedirection& document) {
    const bool strips = document.operation == "<<-";
    std::string delimiter;
    for (const char c : document.target.text)
      if (c != '\'' && c != '"' && c != '\\') delimiter += c;
    document.quoted = delimiter.size() != document.target.text.size();
    document.operation = "<<";
    const int started = line_;
    std::string body;
    while (at_ < text_.size()) {
      const size_t end = std::min(text_.find('\n', at_), text_.size());
      std::string_view row = text_.substr(at_, end - at_);
      if (strips) row.remove_prefix(std::min(row.find_first_not_of('\t'), row.size()));
      advance_to(end + 1);
      if (row == delimiter) {
        document.target = {body, started};
        return;
      }
      body += std::string(row) + "\n";
    }
    fail(document.target.line, fmt::format("the text for << does not end in \"{}\"", delimiter));
  }

  /// The unquoted word that stands here; keywords and operators are told by it.
  std::string_view peek_word() const {
    size_t end = at_;
    while (end < text_.size() && kMeta.find(text_[end]) == kMeta.npos) ++end;
    if (end == at_ && end < text_.size()) ++end;
    return text_.substr(at_, end - at_);
  }
  bool keyword(std::string_view word) {
    skip_blanks();
    if (peek_word() != word) return false;
    at_ += word.size();
    return true;
  }
  void expect(std::string_view word, int line, std::string_view what) {
    skip_newlines();
    if (!keyword(word)) fail(line, fmt::format("{} has no \"{}\"", what, word));
  }

  RawWord word(bool is_pattern = false) {
    const size_t begin = at_;
    const int line = line_;
    while (at_ < text_.size()) {
      if (is_pattern && at_ > begin && here() == '(' &&
          std::string_view("@?*+!").find(text_[at_ - 1]) != std::string_view::npos) {
        skip_alternatives();
        continue;
      }
      if (kMeta.find(here()) != kMeta.npos) break;
      const size_t end = skip_shell_piece(text_, at_);
      if (end == text_.npos) {
        fail(line_, fmt::format("{} has no end", std::string(1, here()) == "$"
                                                     ? std::string(text_.substr(at_, 2))
                                                     : std::string(1, here())));
        break;
      }
      advance_to(end);
    }
    return {std::string(text_.substr(begin, at_ - begin)), line};
  }

  /// The brackets of @(a|b).
  void skip_alternatives() {
    int depth = 0;
    do {
      depth += here() == '(' ? 1 : here() == ')' ? -1 : 0;
      const bool bracket = here() == '(' || here() == ')' || here() == '|';
      const size_t end = bracket ? at_ + 1 : skip_shell_piece(text_, at_);
      advance_to(end == text_.npos ? text_.size() : end);
    } while (depth > 0 && at_ < text_.size());
  }

  /// Up to the end of the text, or a word of `ends` where a command would begin.
  ShellTree parse_list(const std::vector<std::string_view>& ends) {
    const Depth depth(depth_);
    Node list = node(Kind::kList);
    if (depth_ > kDeepest) fail(line_, "nests deeper than 100");
    while (!failed()) {
      skip_newlines();
      if (at_ >= text_.size()) break;
      const std::string_view next = peek_word();
      if (base::contains(ends, next)) break;
      if (here() == ';' && !starts(";;")) {
        ++at_;
        continue;
      }
      if (here() == ')' || starts(";;")) break;
      const size_t before = at_;
      list->parts.push_back(parse_and_or());
      skip_blanks();
      if (here() == '&') {
        Node aside = node(Kind::kBackground);
        aside->line = list->parts.back()->line;
        aside->parts = {list->parts.back()};
        list->parts.back() = aside;
        ++at_;
      } else if (here() == ';' && !starts(";;")) {
        ++at_;
      }
      if (at_ == before)
        fail(line_, fmt::format("\"{}\" stands where no command can begin", peek_word()));
    }
    return list;
  }

  ShellTree parse_and_or() {
    ShellTree left = parse_pipeline();
    for (skip_blanks(); !failed() && (starts("&&") || starts("||")); skip_blanks()) {
      Node both = node(here() == '&' ? Kind::kAnd : Kind::kOr);
      at_ += 2;
      skip_newlines();
      both->parts = {left, parse_pipeline()};
      left = both;
    }
    return left;
  }

  ShellTree parse_pipeline() {
    Node pipeline = node(Kind::kPipeline);
    while (keyword("!")) pipeline->negated = !pipeline->negated;
    if (keyword("time")) skip_blanks();
    pipeline->parts.push_back(parse_command());
    for (skip_blanks(); !failed() && here() == '|' && !starts("||"); skip_blanks()) {
      at_ += starts("|&") ? 2 : 1;
      skip_newlines();
      pipeline->parts.push_back(parse_command());
    }
    if (pipeline->parts.size() == 1 && !pipeline->negated) return pipeline->parts.front();
    return pipeline;
  }

  ShellTree parse_command() {
    const Depth depth(depth_);
    if (depth_ > kDeepest) fail(line_, "nests deeper than 100");
    if (failed()) return node(Kind::kList);
    skip_blanks();
    Node command;
    if (starts("(("))
      command = parse_arithmetic();
    else if (here() == '(')
      command = parse_group(")", Kind::kSubshell);
    else if (peek_word() == "{")
      command = parse_group("}", Kind::kList);
    else if (peek_word() == "if")
      command = parse_if();
    else if (peek_word() == "while" || peek_word() == "until")
      command = parse_while();
    else if (peek_word() == "for" || peek_word() == "select")
      command = parse_for();
    else if (peek_word() == "case")
      command = parse_case();
    else if (peek_word() == "[[")
      command = parse_condition();
    else if (peek_word() == "function")
      command = parse_function(true);
    else if (is_function())
      command = parse_function(false);
    else
      return parse_simple();
    for (skip_blanks(); !failed() && redirection(*command); skip_blanks()) {}
    return command;
  }

  Node parse_arithmetic() {
    Node made = node(Kind::kArithmetic);
    const size_t end = skip_brackets(text_, at_, '(', ')');
    if (end == text_.npos || end - at_ < 4 || text_[end - 2] != ')') {
      fail(line_, "(( has no ))");
      return made;
    }
    made->words.push_back({std::string(text_.substr(at_ + 2, end - at_ - 4)), line_});
    advance_to(end);
    return made;
  }
  Node parse_group(std::string_view close, Kind kind) {
    Node made = node(kind);
    ++at_;
    made->parts = {parse_list({close})};
    skip_newlines();
    if (peek_word() == close)
      ++at_;
    else
      fail(made->line, fmt::format("\"{}\" has no \"{}\"", close == ")" ? "(" : "{", close));
    return made;
  }
  Node parse_if() {
    Node made = node(Kind::kIf);
    at_ += 2;
    while (!failed()) {
      made->parts.push_back(parse_list({"then"}));
      expect("then", made->line, "if");
      made->parts.push_back(parse_list({"elif", "else", "fi"}));
      skip_newlines();
      if (keyword("elif")) continue;
      if (keyword("else")) made->parts.push_back(parse_list({"fi"}));
      break;
    }
    expect("fi", made->line, "if");
    return made;
  }
  Node parse_while() {
    Node made = node(Kind::kWhile);
    made->negated = peek_word() == "until";
    at_ += 5;
    made->parts.push_back(parse_list({"do"}));
    parse_do(*made);
    return made;
  }
  void parse_do(ShellNode& loop) {
    skip_newlines();
    if (here() == ';') ++at_;
    skip_newlines();
    if (loop.kind == Kind::kForCount && peek_word() == "{") {
      loop.parts.push_back(parse_group("}", Kind::kList));
      return;
    }
    expect("do", loop.line, "the loop");
    loop.parts.push_back(parse_list({"done"}));
    expect("done", loop.line, "the loop");
  }
  Node parse_for() {
    Node made = node(Kind::kFor);
    at_ += peek_word().size();
    skip_blanks();
    if (starts("((")) {
      const Node counts = parse_arithmetic();
      made->kind = Kind::kForCount;
      if (failed()) return made;
      size_t begin = 0;
      const std::string& text = counts->words.front().text;
      for (int i = 0; i < 3; ++i) {
        const size_t end = std::min(text.find(';', begin), text.size());
        made->words.push_back({text.substr(begin, end - begin), made->line});
        begin = std::min(end + 1, text.size());
      }
    } else {
      made->name = word().text;
      skip_newlines();
      made->has_in = keyword("in");
      for (skip_blanks(); made->has_in && at_ < text_.size() && kMeta.find(here()) == kMeta.npos;
           skip_blanks())
        made->words.push_back(word());
    }
    parse_do(*made);
    return made;
  }
  Node parse_case() {
    Node made = node(Kind::kCase);
    at_ += 4;
    skip_blanks();
    made->words.push_back(word());
    expect("in", made->line, "case");
    for (skip_newlines(); !failed() && peek_word() != "esac"; skip_newlines()) {
      if (here() == '(') ++at_;
      std::vector<RawWord> patterns;
      for (skip_blanks(); !failed() && at_ < text_.size() && here() != ')'; skip_blanks()) {
        if (here() == '|') ++at_;
        skip_blanks();
        const size_t before = at_;
        patterns.push_back(word(true));
        if (at_ == before) fail(line_, "a pattern of case has no \")\"");
      }
      if (here() == ')') ++at_;
      made->patterns.push_back(std::move(patterns));
      made->parts.push_back(parse_list({"esac"}));
      skip_newlines();
      if (starts(";;&") || starts(";&"))
        fail(line_, "a branch of case that goes on (;& and ;;&) is not followed");
      else if (starts(";;"))
        at_ += 2;
      else if (peek_word() != "esac")
        fail(line_, "a branch of case has no \";;\"");
    }
    expect("esac", made->line, "case");
    return made;
  }
  /// Words of [[ ]], operators among them.
  Node parse_condition() {
    Node made = node(Kind::kCondition);
    at_ += 2;
    for (skip_newlines(); !failed(); skip_newlines()) {
      if (at_ >= text_.size()) {
        fail(made->line, "[[ has no ]]");
      } else if (starts("]]")) {
        at_ += 2;
        break;
      } else if (starts("&&") || starts("||")) {
        made->words.push_back({std::string(text_.substr(at_, 2)), line_});
        at_ += 2;
      } else if (here() == ';' || here() == '&' || here() == '|') {
        fail(made->line, "[[ has no ]]");
      } else if (!made->words.empty() && made->words.back().text == "=~") {
        made->words.push_back(regular_expression());
      } else if (kMeta.find(here()) != kMeta.npos) {
        made->words.push_back({std::string(1, here()), line_});
        ++at_;
      } else {
        made->words.push_back(word(true));
      }
    }
    return made;
  }
  RawWord regular_expression() {
    const size_t begin = at_;
    while (at_ < text_.size() && here() != ' ' && here() != '\t' && here() != '\n') {
      const size_t end = skip_shell_piece(text_, at_);
      advance_to(end == text_.npos ? at_ + 1 : end);
    }
    return {std::string(text_.substr(begin, at_ - begin)), line_};
  }
  bool is_function() const {
    size_t end = at_;
    while (end < text_.size() && (is_shell_name_char(text_[end]) || text_[end] == '-')) ++end;
    if (end == at_) return false;
    while (end < text_.size() && text_[end] == ' ') ++end;
    return text_.substr(end, 2) == "()";
  }
  Node parse_function(bool has_keyword) {
    Node made = node(Kind::kFunction);
    if (has_keyword) {
      at_ += 8;
      skip_blanks();
    }
    const size_t begin = at_;
    while (at_ < text_.size() && (is_shell_name_char(here()) || here() == '-')) ++at_;
    made->name = std::string(text_.substr(begin, at_ - begin));
    skip_blanks();
    if (starts("()")) at_ += 2;
    skip_newlines();
    made->parts = {parse_command()};
    return made;
  }

  /// An operator such as `2>&1` with its target; false when none stands here.
  bool redirection(ShellNode& command) {
    size_t end = at_;
    while (end < text_.size() && base::is_digit(text_[end])) ++end;
    constexpr std::array<std::string_view, 11> kOperations = {"<<<", "<<-", "<<", "<&", ">>", ">&",
                                                              ">|",  "&>>", "&>", "<",  ">"};
    const std::string_view rest = text_.substr(end);
    if (rest.starts_with("<(") || rest.starts_with(">(")) return false;
    const auto* found =
        std::ranges::find_if(kOperations, [&](std::string_view o) { return rest.starts_with(o); });
    if (found == kOperations.end() || (found->front() == '&' && end != at_)) return false;
    ShellRedirection made;
    made.operation = *found;
    if (end > at_ && end - at_ < 4)
      made.descriptor = std::stoi(std::string(text_.substr(at_, end - at_)));
    at_ = end + found->size();
    skip_blanks();
    if (starts("<(") || starts(">("))
      made.target = process_substitution();
    else
      made.target = word();
    if (made.target.text.empty())
      fail(line_, fmt::format("\"{}\" has nothing behind it", made.operation));
    const bool document = made.operation == "<<" || made.operation == "<<-";
    // Documents are filled in later, so that redirections must not move.
    command.redirections.reserve(kMostRedirections);
    if (command.redirections.size() == kMostRedirections) {
      fail(line_, fmt::format("one command has more than {} redirections", kMostRedirections));
      return true;
    }
    command.redirections.push_back(std::move(made));
    if (document) documents_.push_back(&command.redirections.back());
    return true;
  }
  RawWord process_substitution() {
    const int line = line_;
    const size_t end = skip_brackets(text_, at_ + 1, '(', ')');
    if (end == text_.npos) {
      fail(line_, "<( has no )");
      return {};
    }
    const RawWord made = {std::string(text_.substr(at_, end - at_)), line};
    advance_to(end);
    return made;
  }

  ShellTree parse_simple() {
    Node made = node(Kind::kSimple);
    for (skip_blanks(); !failed() && at_ < text_.size(); skip_blanks()) {
      if (starts("<(") || starts(">(")) {
        made->words.push_back(process_substitution());
        continue;
      }
      if (redirection(*made)) continue;
      if (kMeta.find(here()) != kMeta.npos) break;
      // `export A=(...)` and its relatives assign as well.
      if ((made->words.empty() || declares(made->words.front().text)) && assignment(*made))
        continue;
      made->words.push_back(word());
    }
    return made;
  }
  static bool declares(std::string_view word) {
    return word == "export" || word == "local" || word == "declare" || word == "typeset" ||
           word == "readonly";
  }
  bool assignment(ShellNode& command) {
    size_t end = at_;
    while (end < text_.size() && is_shell_name_char(text_[end])) ++end;
    if (end == at_ || base::is_digit(here())) return false;
    ShellAssignment made;
    made.line = line_;
    made.name = std::string(text_.substr(at_, end - at_));
    if (end < text_.size() && text_[end] == '[') {
      const size_t close = skip_brackets(text_, end, '[', ']');
      if (close == text_.npos) return false;
      made.has_index = true;
      made.index = std::string(text_.substr(end + 1, close - end - 2));
      end = close;
    }
    made.append = text_.substr(end, 2) == "+=";
    if (!made.append && text_.substr(end, 1) != "=") return false;
    advance_to(end + (made.append ? 2 : 1));
    if (here() == '(') {
      made.is_array = true;
      ++at_;
      for (skip_newlines(); !failed() && here() != ')'; skip_newlines()) {
        const size_t before = at_;
        made.items.push_back(word());
        if (at_ == before) fail(made.line, fmt::format("{}=( has no \")\"", made.name));
      }
      if (here() == ')') ++at_;
    } else {
      made.value = word();
    }
    command.assignments.push_back(std::move(made));
    return true;
  }

  std::string_view text_;
  const std::string& file_;
  size_t at_ = 0;
  int line_;
  bool counts_;
  int depth_ = 0;
  int error_line_ = 0;
  std::string error_;
  std::vector<ShellRedirection*> documents_;
};

}  // namespace

Result<ShellTree> parse_shell(std::string_view script, const std::string& file, int first_line,
                              bool counts) {
  return ShellParser(script, file, first_line, counts).parse();
}

}  // namespace ergometer::intake
