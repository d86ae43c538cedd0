// Times steps that are like decoding: kernels one behind another, bound by memory, on all multiprocessors, about 1.1 ms a
// step on an H200. What else happens on the GPU shows in how long they take.
//
//   decode_steps SECONDS NAME

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t result) {
  if (result != cudaSuccess) {
    fprintf(stderr, "%s\n", cudaGetErrorString(result));
    exit(1);
  }
}

__global__ void read_weights(const uint4 *weights, uint4 *out, size_t words) {
  uint4 sum = {0, 0, 0, 0};
  size_t step = (size_t)gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += step) {
    sum.x ^= weights[i].x, sum.y ^= weights[i].y, sum.z ^= weights[i].z, sum.w ^= weights[i].w;
  }
  if (sum.x == 12345 && sum.y == 54321) {
    *out = sum;
  }
}

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main(int, char **arguments) {
  const size_t bytes = (size_t)4 << 30, layers = 36, words = bytes / sizeof(uint4) / layers;
  uint4 *weights, *out;
  int multiprocessors;
  check(cudaMalloc(&weights, bytes));
  check(cudaMalloc(&out, sizeof *out));
  check(cudaMemset(weights, 7, bytes));
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  std::vector<double> steps;
  double end = now() + atof(arguments[1]);
  while (now() < end) {
    double began = now();
    for (size_t layer = 0; layer < layers; layer++) {
      read_weights<<<4 * multiprocessors, 512>>>(weights + layer * words, out, words);
    }
    check(cudaDeviceSynchronize());
    steps.push_back((now() - began) * 1e6);
  }
  steps.erase(steps.begin(), steps.begin() + steps.size() / 10);
  std::sort(steps.begin(), steps.end());
  printf("| %s | %zu | %.0f | %.0f | %.0f | %.0f |\n", arguments[2], steps.size(), steps[steps.size() / 2],
         steps[steps.size() * 95 / 100], steps[steps.size() * 99 / 100], steps.back());
}
