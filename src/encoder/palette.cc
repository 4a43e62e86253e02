// SPDX-License-Identifier: Apache-2.0
#include "encoder/palette.h"

#include <algorithm>
#include <numeric>

namespace vitrine::encoder {

namespace {

constexpr std::size_t kBins = 32 * 32 * 32;
constexpr std::size_t kColours = 255;  // one is left for "as before"

struct Bin {
  std::uint32_t count = 0;
  std::uint64_t red = 0, green = 0, blue = 0;

  int r() const { return static_cast<int>(red / count); }
  int g() const { return static_cast<int>(green / count); }
  int b() const { return static_cast<int>(blue / count); }
};

std::size_t bin_of(const std::uint8_t* pixel) {
  return static_cast<std::size_t>(pixel[2] >> 3 << 10 | pixel[1] >> 3 << 5 | pixel[0] >> 3);
}

int distance(const Bin& a, const Bin& b) {
  const int dr = a.r() - b.r(), dg = a.g() - b.g(), db = a.b() - b.b();
  return 2 * dr * dr + 4 * dg * dg + db * db;  // eyes see green best
}

}  // namespace

Paletted make_palette(std::span<const std::uint8_t> bgrx) {
  std::vector<Bin> bins(kBins);
  for (std::size_t i = 0; i + 3 < bgrx.size(); i += 4) {
    Bin& bin = bins[bin_of(&bgrx[i])];
    ++bin.count;
    bin.blue += bgrx[i];
    bin.green += bgrx[i + 1];
    bin.red += bgrx[i + 2];
  }
  std::vector<std::uint16_t> used;
  for (std::size_t i = 0; i < kBins; ++i)
    if (bins[i].count > 0) used.push_back(static_cast<std::uint16_t>(i));
  const std::size_t kept = std::min(used.size(), kColours);
  std::ranges::partial_sort(used, used.begin() + static_cast<std::ptrdiff_t>(kept), std::greater{},
                            [&](std::uint16_t bin) { return bins[bin].count; });

  Paletted out;
  std::vector<std::uint8_t> index(kBins);
  for (std::size_t i = 0; i < kept; ++i) {
    const Bin& bin = bins[used[i]];
    out.colours[i] =
        0xFF000000u | static_cast<std::uint32_t>(bin.r() << 16 | bin.g() << 8 | bin.b());
    index[used[i]] = static_cast<std::uint8_t>(i);
  }
  for (std::size_t i = kept; i < used.size(); ++i) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < kept; ++k)
      if (distance(bins[used[i]], bins[used[k]]) < distance(bins[used[i]], bins[used[best]]))
        best = k;
    index[used[i]] = static_cast<std::uint8_t>(best);
  }
  for (std::size_t i = kept; i < out.colours.size(); ++i) out.colours[i] = 0xFF000000u;
  out.pixels.reserve(bgrx.size() / 4);
  for (std::size_t i = 0; i + 3 < bgrx.size(); i += 4)
    out.pixels.push_back(index[bin_of(&bgrx[i])]);
  return out;
}

}  // namespace vitrine::encoder
