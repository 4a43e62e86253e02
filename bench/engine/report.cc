// SPDX-License-Identifier: Apache-2.0
#include "engine/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace vitrine::bench {

namespace {

// Three significant digits, no exponent.
std::string number(double value) {
  char text[64];
  const double size = std::abs(value);
  const int digits = size >= 100 || value == std::floor(value) ? 0
                     : size >= 10                              ? 1
                     : size >= 1                               ? 2
                                                               : 3;
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string number(const std::optional<double>& value) { return value ? number(*value) : "-"; }

std::string to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::none: return "";
    case Verdict::ok: return "ok";
    case Verdict::missed: return "MISSED";
  }
  return "";
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') out += "\\n";
    else out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

std::string exact(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string exact(const std::optional<double>& value) { return value ? exact(*value) : "null"; }

}  // namespace

Row row_of(std::string metric, std::string unit, const Samples& samples) {
  return {.metric = std::move(metric),
          .unit = std::move(unit),
          .p50 = samples.p50(),
          .p99 = samples.count() >= 20 ? std::optional(samples.p99()) : std::nullopt,
          .best = samples.count() >= 20 ? std::optional(samples.least()) : std::nullopt,
          .count = samples.count()};
}

Row row_of(std::string metric, std::string unit, const Samples& samples, std::string baseline,
           const Samples& beside) {
  Row row = row_of(std::move(metric), std::move(unit), samples);
  if (beside.count() == 0) return row;
  row.baseline = std::move(baseline);
  row.baseline_value = beside.p50();
  row.ratio = samples.ratio_to(beside);
  return row;
}

Row with_target(Row row, std::string target, bool reached) {
  row.target = std::move(target);
  row.verdict = reached ? Verdict::ok : Verdict::missed;
  return row;
}

std::string Report::table() const {
  std::vector<std::vector<std::string>> cells{
      {"metric", "unit", "best", "p50", "p99", "n", "beside", "its p50", "ratio", "target", ""}};
  for (const Row& row : rows) {
    if (row.count == 0) continue;  // not measured
    cells.push_back({row.metric, row.unit, number(row.best), number(row.p50), number(row.p99),
                     std::to_string(row.count), row.baseline, number(row.baseline_value),
                     row.ratio ? number(*row.ratio) + "x" : "-", row.target,
                     to_string(row.verdict)});
  }
  std::vector<std::size_t> widths(cells[0].size());
  for (const auto& line : cells)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::string out;
  for (const auto& line : cells) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const bool text = i < 2 || i == 6 || i >= 9;
      const std::string pad(widths[i] - line[i].size(), ' ');
      out += text ? line[i] + pad : pad + line[i];
      out += i + 1 < line.size() ? "  " : "\n";
    }
    if (&line == cells.data()) {
      for (std::size_t i = 0; i < widths.size(); ++i)
        out += std::string(widths[i], '-') + (i + 1 < widths.size() ? "  " : "\n");
    }
  }
  for (const auto& [name, value] : conditions) out += name + ": " + value + "\n";
  for (const std::string& note : notes) out += "note: " + note + "\n";
  return out;
}

std::string Report::json() const {
  std::string out = "{\"rows\":[";
  for (const Row& row : rows) {
    out += &row == rows.data() ? "\n" : ",\n";
    out += "{\"metric\":" + quoted(row.metric) + ",\"unit\":" + quoted(row.unit) +
           ",\"best\":" + exact(row.best) + ",\"p50\":" + exact(row.p50) +
           ",\"p99\":" + exact(row.p99) + ",\"n\":" + std::to_string(row.count) +
           ",\"beside\":" + quoted(row.baseline) + ",\"beside_p50\":" + exact(row.baseline_value) +
           ",\"ratio\":" + exact(row.ratio) + ",\"target\":" + quoted(row.target) +
           ",\"verdict\":" + quoted(to_string(row.verdict)) + "}";
  }
  out += "],\n\"conditions\":{";
  for (const auto& [name, value] : conditions)
    out += (&name == &conditions.front().first ? "" : ",") + quoted(name) + ":" + quoted(value);
  out += "},\n\"notes\":[";
  for (const std::string& note : notes) out += (&note == notes.data() ? "" : ",") + quoted(note);
  return out + "]}\n";
}

}  // namespace vitrine::bench
