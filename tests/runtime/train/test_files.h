// Files for tests, in the test's own folder.
#ifndef PDC_TESTS_RUNTIME_TRAIN_TEST_FILES_H_
#define PDC_TESTS_RUNTIME_TRAIN_TEST_FILES_H_

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace pdc::train {

// A fresh folder for the running test.
inline std::string TestFolder() {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / (std::string(test->test_suite_name()) + "." + test->name());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder.string();
}

inline std::string WriteFile(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
  return path;
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream contents;
  contents << in.rdbuf();
  return contents.str();
}

inline std::string IdxFile(const std::vector<uint32_t>& shape, const std::string& data) {
  std::string contents = {0, 0, 8, static_cast<char>(shape.size())};
  for (uint32_t dim : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) contents += static_cast<char>(dim >> shift & 255);
  }
  return contents + data;
}

// A version 1.0 .npy file.
inline std::string NpyFile(const std::string& description, const std::string& shape,
                           const std::string& data) {
  std::string header = "{'descr': '" + description + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string contents = "\x93NUMPY";
  contents += '\x01';
  contents += '\x00';
  contents += static_cast<char>(header.size() & 255);
  contents += static_cast<char>(header.size() >> 8);
  return contents + header + data;
}

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

}  // namespace pdc::train

#endif  // PDC_TESTS_RUNTIME_TRAIN_TEST_FILES_H_
