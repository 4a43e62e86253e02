// SPDX-License-Identifier: Apache-2.0
#include "egress/request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "model/network.h"

namespace vitrine::egress {

namespace {

constexpr std::size_t kMaxHeaders = 100;
constexpr std::size_t kMaxMethod = 32;

bool is_token_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_token_character);
}
bool is_visible(char c) { return c > ' ' && c < 0x7f; }

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

struct Place {
  std::string host;
  std::optional<std::uint16_t> port;
};

// host, host:port, [v6], [v6]:port; the host normalised except for its case.
std::optional<Place> parse_place(std::string_view text) {
  Place place;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    place.host = lowered(text.substr(1, end - 1));
    rest = text.substr(end + 1);
    if (host_kind(place.host) != HostKind::ipv6) return std::nullopt;
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    place.host = lowered(text.substr(0, colon));
    rest = text.substr(colon);
    const std::optional<HostKind> kind = host_kind(place.host);
    if (!kind || kind == HostKind::ipv6) return std::nullopt;
  }
  if (rest.empty()) return place;
  const std::string_view digits = rest.substr(1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (rest.front() != ':' || digits.empty() || digits.front() == '0' || error != std::errc{} ||
      end != digits.data() + digits.size())
    return std::nullopt;
  place.port = port;
  return place;
}

Refusal odd_host() {
  return {400,
          "the host is not in its canonical form: use a lower-case ASCII name or a usual address"};
}

struct Header {
  std::string name;  // lower case
  std::string_view as_written;
  std::string_view value;
};

std::optional<Header> parse_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return std::nullopt;
  Header header{lowered(line.substr(0, colon)), line.substr(0, colon),
                trimmed(line.substr(colon + 1))};
  const bool plain = std::ranges::all_of(header.value, [](char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != 0x7f);
  });
  if (!plain) return std::nullopt;
  return header;
}

// Hop-by-hop headers and those for the proxy: not passed to the server.
bool is_ours(std::string_view name) {
  constexpr std::array<std::string_view, 7> kHop{"connection", "close",   "keep-alive", "te",
                                                 "trailer",    "upgrade", "host"};
  return name.starts_with("proxy-") || std::ranges::find(kHop, name) != kHop.end();
}

// Takes the line up to CR LF; nullopt for any other line ending.
std::optional<std::string_view> next_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos || end == 0 || rest[end - 1] != '\r') return std::nullopt;
  const std::string_view line = rest.substr(0, end - 1);
  rest.remove_prefix(end + 1);
  if (line.find('\r') != std::string_view::npos || line.find('\0') != std::string_view::npos)
    return std::nullopt;
  return line;
}

struct Line {
  std::string_view method;
  std::string_view target;
  std::string_view version;
};

std::optional<Line> parse_line(std::string_view text) {
  const std::size_t first = text.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : text.find(' ', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const Line line{text.substr(0, first), text.substr(first + 1, second - first - 1),
                  text.substr(second + 1)};
  if (!is_token(line.method) || line.method.size() > kMaxMethod || line.target.empty() ||
      !std::ranges::all_of(line.target, is_visible) ||
      (line.version != "HTTP/1.1" && line.version != "HTTP/1.0"))
    return std::nullopt;
  return line;
}

struct Headers {
  std::vector<Header> all;
  std::vector<std::string> dropped;  // named by Connection
  std::optional<std::uint64_t> length;
};

std::variant<Headers, Refusal> parse_headers(std::string_view rest) {
  Headers headers;
  for (;;) {
    const auto line = next_line(rest);
    if (!line) return Refusal{400, "a header line does not end with CR LF"};
    if (line->empty()) break;
    if (headers.all.size() == kMaxHeaders) return Refusal{431, "there are more than 100 headers"};
    std::optional<Header> header = parse_header(*line);
    if (!header) return Refusal{400, "a header is malformed"};
    if (header->name == "transfer-encoding")
      return Refusal{501,
                     "chunked requests are not forwarded: send a Content-Length, or use https"};
    if (header->name == "content-length") {
      std::uint64_t length = 0;
      const std::string_view text = header->value;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
      if (headers.length || text.empty() || text.size() > 18 || error != std::errc{} ||
          end != text.data() + text.size())
        return Refusal{400, "the Content-Length is not a single number"};
      headers.length = length;
    }
    if (header->name == "connection")
      for (std::string_view value = header->value; !value.empty();) {
        const std::size_t comma = std::min(value.find(','), value.size());
        headers.dropped.push_back(lowered(trimmed(value.substr(0, comma))));
        if (headers.dropped.back() == "content-length")
          return Refusal{400, "the Content-Length is not for the proxy alone"};
        value.remove_prefix(std::min(comma + 1, value.size()));
      }
    headers.all.push_back(std::move(*header));
  }
  if (!rest.empty()) return Refusal{400, "the headers are malformed"};
  return headers;
}

std::string rewritten(const Line& line, std::string_view path, const Request& request,
                      const Headers& headers) {
  std::string out(line.method);
  out += ' ';
  out += path;
  out += ' ';
  out += line.version;
  const std::string host = request.port == 80 && request.host.find(':') == std::string::npos
                               ? request.host
                               : authority(request.host, request.port);
  out += "\r\nHost: " + host + "\r\n";
  for (const Header& header : headers.all) {
    if (is_ours(header.name) ||
        std::ranges::find(headers.dropped, header.name) != headers.dropped.end())
      continue;
    out += header.as_written;
    out += ": ";
    out += header.value;
    out += "\r\n";
  }
  return out + "Connection: close\r\n\r\n";
}

}  // namespace

std::string authority(std::string_view host, std::uint16_t port) {
  const bool v6 = host.find(':') != std::string_view::npos;
  return (v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + std::to_string(port);
}

std::optional<std::size_t> head_size(std::string_view bytes) {
  for (std::size_t at = bytes.find('\n'); at != std::string_view::npos;
       at = bytes.find('\n', at + 1)) {
    const bool bare = at == 0 || bytes[at - 1] != '\r';
    const bool empty = at >= 3 && bytes.substr(at - 3, 4) == "\r\n\r\n";
    if (bare || empty || at == 1) return at + 1;
  }
  return std::nullopt;
}

std::variant<Request, Refusal> parse_request(std::string_view head) {
  if (head.size() > kMaxHead) return Refusal{431, "the headers are larger than 16 KiB"};
  const auto first = next_line(head);
  const std::optional<Line> line = first ? parse_line(*first) : std::nullopt;
  if (!line) return Refusal{400, "this is not a request to an HTTP proxy"};
  std::variant<Headers, Refusal> parsed = parse_headers(head);
  if (auto* refusal = std::get_if<Refusal>(&parsed)) return std::move(*refusal);
  const Headers& headers = std::get<Headers>(parsed);

  Request request;
  if (line->method == "CONNECT") {
    const std::optional<Place> place = parse_place(line->target);
    if (!place) return odd_host();
    if (!place->port) return Refusal{400, "CONNECT needs a port"};
    request.tunnel = true;
    request.host = place->host;
    request.port = *place->port;
    return request;
  }
  constexpr std::string_view kScheme = "http://";
  if (lowered(line->target.substr(0, kScheme.size())) != kScheme)
    return Refusal{400, "this is the session's proxy: request http://HOST/, or CONNECT HOST:PORT"};
  std::string_view rest = line->target.substr(kScheme.size());
  const std::size_t slash = std::min(rest.find_first_of("/?#"), rest.size());
  const std::optional<Place> place = parse_place(rest.substr(0, slash));
  if (!place) return odd_host();
  std::string path(rest.substr(slash));
  if (path.find('#') != std::string::npos) return Refusal{400, "the target has a fragment"};
  if (!path.starts_with('/')) path.insert(0, "/");
  request.host = place->host;
  request.port = place->port.value_or(80);
  request.body = headers.length.value_or(0);
  request.head = rewritten(*line, path, request, headers);
  return request;
}

}  // namespace vitrine::egress
