// SPDX-License-Identifier: Apache-2.0
#include "encoder/palette.h"

#include <algorithm>
#include <functional>

namespace vitrine::encoder {

namespace {

constexpr std::size_t kBins = 32 * 32 * 32;
constexpr std::size_t kColours = 255;  // one is left for "as before"

struct Bin {
  std::uint32_t count = 0;
  std::uint64_t red = 0, green = 0, blue = 0;
};

// The mean of what fell into a bin.
struct Colour {
  int red = 0, green = 0, blue = 0;

  explicit Colour(const Bin& bin)
      : red(static_cast<int>(bin.red / bin.count)),
        green(static_cast<int>(bin.green / bin.count)),
        blue(static_cast<int>(bin.blue / bin.count)) {}
};

std::size_t bin_of(const std::uint8_t* pixel) {
  return static_cast<std::size_t>(pixel[2] >> 3 << 10 | pixel[1] >> 3 << 5 | pixel[0] >> 3);
}

std::uint8_t nearest(const Colour& wanted, const std::vector<Colour>& colours) {
  std::size_t best = 0;
  int least = 1 << 30;
  for (std::size_t i = 0; i < colours.size(); ++i) {
    const int dr = wanted.red - colours[i].red;
    const int dg = wanted.green - colours[i].green;
    const int db = wanted.blue - colours[i].blue;
    const int distance = 2 * dr * dr + 4 * dg * dg + db * db;  // eyes see green best
    if (distance < least) least = distance, best = i;
  }
  return static_cast<std::uint8_t>(best);
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
  std::vector<Colour> colours;
  for (std::size_t i = 0; i < kept; ++i) {
    const Colour colour(bins[used[i]]);
    out.colours[i] = 0xFF000000u |
                     static_cast<std::uint32_t>(colour.red << 16 | colour.green << 8 | colour.blue);
    index[used[i]] = static_cast<std::uint8_t>(i);
    colours.push_back(colour);
  }
  for (std::size_t i = kept; i < used.size(); ++i)
    index[used[i]] = nearest(Colour(bins[used[i]]), colours);
  for (std::size_t i = kept; i < out.colours.size(); ++i) out.colours[i] = 0xFF000000u;
  out.pixels.reserve(bgrx.size() / 4);
  for (std::size_t i = 0; i + 3 < bgrx.size(); i += 4)
    out.pixels.push_back(index[bin_of(&bgrx[i])]);
  return out;
}

}  // namespace vitrine::encoder
