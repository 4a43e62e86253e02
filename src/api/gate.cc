// SPDX-License-Identifier: Apache-2.0
#include "api/gate.h"

#include <boost/beast/core/string.hpp>

#include "base/base64.h"

namespace vitrine::api {

namespace beast = boost::beast;

std::optional<Problem> refuse_form(const RequestHeader& request,
                                   const std::optional<Target>& target, Access access,
                                   const std::set<std::string>& hosts) {
  if (request.count(http::field::host) != 1 && request.version() >= 11)
    return Problem{.status = http::status::bad_request,
                   .code = "bad_host",
                   .detail = "the request does not have exactly one Host header",
                   .remedy = "send exactly one"};
  // The absolute form names a host too, and that one counts; both must be ours.
  const bool any_host = hosts.empty() || access == Access::open;
  const bool foreign = target && !target->authority.empty() && !hosts.contains(target->authority);
  if (!any_host && (foreign || !hosts.contains(std::string(request[http::field::host]))))
    return Problem{.status = http::status::misdirected_request,
                   .code = "wrong_host",
                   .detail = "the Host is not a name of this server",
                   .remedy = "use the address that the server printed when it started"};
  const std::string origin(request[http::field::origin]);
  if (!origin.empty()) {
    const std::string own = "http://" + std::string(request[http::field::host]);
    if (origin != own && origin != "https://" + std::string(request[http::field::host]))
      return Problem{.status = http::status::forbidden,
                     .code = "foreign_origin",
                     .detail = "pages of other origins may not call this server",
                     .remedy = "call it from a program, or from its own pages"};
  }
  const std::size_t codings = request.count(http::field::transfer_encoding);
  const std::size_t lengths = request.count(http::field::content_length);
  if (codings > 0 && lengths > 0)
    return Problem{.status = http::status::bad_request,
                   .code = "ambiguous_length",
                   .detail = "both Content-Length and Transfer-Encoding are given",
                   .remedy = "send one of them"};
  const std::string length(request[http::field::content_length]);
  if (lengths > 1 || (lengths == 1 && length.find_first_not_of("0123456789") != length.npos))
    return Problem{.status = http::status::bad_request,
                   .code = "ambiguous_length",
                   .detail = "there is more than one Content-Length",
                   .remedy = "send one, with one number"};
  const std::string coding(request[http::field::transfer_encoding]);
  if (codings > 1 || (codings == 1 && !beast::iequals(coding, "chunked")))
    return Problem{.status = http::status::bad_request,
                   .code = "bad_transfer_encoding",
                   .detail = "the only supported transfer encoding is chunked",
                   .remedy = "send Content-Length, or Transfer-Encoding: chunked"};
  return std::nullopt;
}

const Identity* identify(const RequestHeader& request, const Identities& known) {
  const std::string given(request[http::field::authorization]);
  constexpr std::string_view kBearer = "Bearer ";
  constexpr std::string_view kBasic = "Basic ";
  if (given.starts_with(kBearer)) return known.find(std::string_view(given).substr(kBearer.size()));
  if (given.starts_with(kBasic)) {  // credentials in a URL: any user name, the token as password
    const std::string decoded = from_base64(std::string_view(given).substr(kBasic.size()));
    const std::size_t colon = decoded.find(':');
    if (colon == std::string::npos) return known.find(decoded);
    const std::string_view user = std::string_view(decoded).substr(0, colon);
    const std::string_view password = std::string_view(decoded).substr(colon + 1);
    return known.find(password.empty() ? user : password);
  }
  const std::string plain(request["X-Vitrine-Token"]);
  if (!plain.empty()) return known.find(plain);
  return given.empty() ? &known.anonymous() : nullptr;
}

Sender admit(const RequestHeader& request, Access access, const Identities& known, Tokens tokens) {
  const bool needed =
      access == Access::listing || (access != Access::open && tokens == Tokens::everywhere);
  const Identity* asks = identify(request, known);
  const bool anonymous = asks == nullptr || asks->name.empty();
  // Where tokens tell tenants apart, a wrong one is a mistake, even where none is needed: what it
  // makes would belong to nobody.
  const bool mistaken = asks == nullptr && access != Access::open && known.has_named();
  if ((needed && anonymous) || mistaken)
    return {.refusal = Problem{
                .status = http::status::unauthorized,
                .code = "token_needed",
                .detail = mistaken ? "this token is unknown" : "this route needs a token",
                .remedy =
                    "send Authorization: Bearer TOKEN; the owner's token is in the file `token` "
                    "of the server's data directory"}};
  const Identity* identity = anonymous ? &known.anonymous() : asks;
  if (access == Access::overview && identity->is_named())
    return {.identity = identity,
            .refusal = Problem{
                .status = http::status::forbidden,
                .code = "owner_only",
                .detail = "this route covers all tenants of the server",
                .remedy = "ask the server's owner; GET /v1/sessions lists your own sessions"}};
  return {.identity = identity};
}

}  // namespace vitrine::api
