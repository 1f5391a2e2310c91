// SPDX-License-Identifier: MIT
// A stand-in for libcuda.so.1: device memory is host memory, a "kernel" is an entry name this file
// knows. The environment says what goes wrong: PLUMBLINE_STAND_IN_FAIL=cuMemAlloc_v2 makes that
// call fail, PLUMBLINE_STAND_IN_DEVICES=0 leaves no GPU, PLUMBLINE_STAND_IN_MAJOR=8 is a chip
// before Hopper. Compiled with PLUMBLINE_STAND_IN_WITHOUT_MAPS it is a driver that knows no tensor
// maps. plumbline_stand_in_count() says what a test cannot see otherwise.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <set>

namespace {

bool fails(const char* call) {
  const char* wanted = std::getenv("PLUMBLINE_STAND_IN_FAIL");
  return wanted && std::strcmp(wanted, call) == 0;
}

int result(const char* call) { return fails(call) ? 2 : 0; }

int fault = 0;        // what the next event query reports
int context = 0;      // how many were reset
bool broken = false;  // by an illegal instruction, until the context is reset

// A module is of the context that it was loaded in.
int module_of[1024] = {};

struct Function {
  char name[64];
};

std::deque<Function> functions;  // of all modules there ever were
std::set<void*> allocated;       // what a reset of the context takes with it

int opted_in = 0;  // most dynamic shared memory
bool large_clusters = false;
int queries_left = 0;  // of a "short" kernel, until it has ended

int events = 0;        // that were created and not destroyed
int modules = 0;       // loaded and not unloaded, or gone with their context
int stale = 0;         // uses of what another context had
int clusters[3] = {};  // of the last launch

struct LaunchConfig {  // CUlaunchConfig
  unsigned grid[3], block[3], shared;
  void* stream;

  struct {
    int id;
    int padding;
    unsigned value[16];
  }* attributes;

  unsigned attribute_count;
};

bool named(void* function, const char* name) {
  return std::strcmp(static_cast<Function*>(function)->name, name) == 0;
}

void free_memory(void* address) {
  if (allocated.erase(address) > 0) std::free(address);
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return result("cuInit"); }

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return result("cuDriverGetVersion");
}

int cuDeviceGetCount(int* count) {
  const char* devices = std::getenv("PLUMBLINE_STAND_IN_DEVICES");
  *count = devices ? std::atoi(devices) : 1;
  return result("cuDeviceGetCount");
}

int cuDeviceGet(int* device, int) {
  *device = 0;
  return result("cuDeviceGet");
}

int cuDeviceGetName(char* name, int size, int) {
  std::strncpy(name, "Stand-in GPU", static_cast<std::size_t>(size));
  return result("cuDeviceGetName");
}

int cuDeviceGetAttribute(int* value, int attribute, int) {
  const char* major = std::getenv("PLUMBLINE_STAND_IN_MAJOR");
  *value = attribute == 75 ? (major ? std::atoi(major) : 9) : 0;
  return result("cuDeviceGetAttribute");
}

int plumbline_stand_in_count(const char* what) {
  const auto is = [&](const char* name) { return std::strcmp(what, name) == 0; };
  if (is("allocations")) return static_cast<int>(allocated.size());
  if (is("events")) return events;
  if (is("modules")) return modules;
  if (is("stale")) return stale;
  if (is("contexts")) return context;
  if (is("cluster")) return clusters[0] * 100 + clusters[1] * 10 + clusters[2];
  return -1;
}

int cuDevicePrimaryCtxRetain(void** handle, int) {
  *handle = &module_of[context];
  return result("cuDevicePrimaryCtxRetain");
}

int cuDevicePrimaryCtxReset_v2(int) {
  ++context;
  modules = 0;
  events = 0;
  if (!fails("cuDevicePrimaryCtxReset_v2")) broken = false;
  while (!allocated.empty()) free_memory(*allocated.begin());
  return 0;
}

int cuDevicePrimaryCtxRelease_v2(int) { return 0; }

int cuCtxSetCurrent(void* handle) {
  if (handle != &module_of[context]) return ++stale, 709;  // CUDA_ERROR_CONTEXT_IS_DESTROYED
  return result("cuCtxSetCurrent");
}

int cuModuleLoadDataEx(void** module, const void*, unsigned options, int* keys, void** values) {
  if (fails("cuModuleLoadDataEx")) {
    for (unsigned i = 0; i < options; ++i) {
      if (keys[i] == 5)
        std::strcpy(static_cast<char*>(values[i]), "ptxas: line 3: no such instruction");
    }
    return 218;
  }
  module_of[context] = context;
  *module = &module_of[context];
  ++modules;
  return 0;
}

int cuModuleUnload(void* module) {
  if (fault == 600) std::abort();
  if (module != &module_of[context]) return ++stale, 400;
  --modules;
  return 0;
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
  if (*static_cast<int*>(module) != context) return 400;  // CUDA_ERROR_INVALID_HANDLE
  Function& made = functions.emplace_back();
  std::strncpy(made.name, name, sizeof made.name - 1);
  *function = &made;
  return result("cuModuleGetFunction");
}

// One pointer and one 32-bit integer.
int cuFuncGetParamInfo(void*, std::size_t index, std::size_t* offset, std::size_t* size) {
  if (index > 1) return 1;
  *offset = index * 8;
  *size = index == 0 ? 8 : 4;
  return 0;
}

// Whether it must be told a cluster (10), and the three dimensions that its PTX gives.
int cuFuncGetAttribute(int* value, int attribute, void* function) {
  const bool large = named(function, "large_cluster");
  const bool has_size = large || named(function, "cluster");
  *value = 0;
  if (attribute == 10) *value = has_size || named(function, "explicit_cluster");
  if (attribute == 11 && has_size) *value = large ? 4 : 2;
  if (attribute == 12 && has_size) *value = large ? 4 : 1;
  if (attribute == 13 && has_size) *value = 1;
  return result("cuFuncGetAttribute");
}

int cuFuncSetAttribute(void*, int attribute, int value) {
  if (attribute == 8) opted_in = value;
  if (attribute == 14) large_clusters = value == 1;
  return result("cuFuncSetAttribute");
}

int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  if (fails("cuMemAlloc_v2")) return 2;
  if (broken) return 715;
  void* memory = std::malloc(bytes);
  allocated.insert(memory);
  *address = reinterpret_cast<std::uint64_t>(memory);
  return 0;
}

int cuMemFree_v2(std::uint64_t address) {
  if (fault == 600) std::abort();  // it would wait for the kernel
  if (!allocated.contains(reinterpret_cast<void*>(address))) return ++stale, 1;
  free_memory(reinterpret_cast<void*>(address));
  return 0;
}

int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  if (fault == 600) std::abort();
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return result("cuMemcpyHtoD_v2");
}

int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return result("cuMemcpyDtoH_v2");
}

static int launches = 0;

// Entries: "fill" writes n bytes of 1, "zeros" of 0; "overrun" writes one byte more,
// "overrun_later" from its second launch on; "fault" breaks the context, "illegal" all calls until
// it is reset, "failed" and "unknown" with codes that name no cause; "hang" does not end, "short"
// not at once; "cluster" has to be launched with one, and so have "large_cluster" and
// "explicit_cluster". All have 16 KiB of shared memory of their own.
static int begin(void* function, unsigned shared, void** extra) {
  if (shared > 32 * 1024 && static_cast<int>(shared) > opted_in) return 1;
  if (std::strstr(static_cast<Function*>(function)->name, "cluster") && clusters[0] == 0)
    return 912;  // CUDA_ERROR_INVALID_CLUSTER_SIZE
  const char* name = static_cast<Function*>(function)->name;
  std::uint64_t address = 0;
  std::int32_t count = 0;
  std::memcpy(&address, extra[1], 8);
  std::memcpy(&count, static_cast<char*>(extra[1]) + 8, 4);
  broken = std::strcmp(name, "illegal") == 0;
  fault = broken                              ? 715
          : std::strcmp(name, "hang") == 0    ? 600
          : std::strcmp(name, "short") == 0   ? 600
          : std::strcmp(name, "fault") == 0   ? 700
          : std::strcmp(name, "failed") == 0  ? 719
          : std::strcmp(name, "unknown") == 0 ? 999
                                              : 0;
  queries_left = std::strcmp(name, "short") == 0 ? 100 : -1;
  if (fault == 0) {
    const bool later = std::strcmp(name, "overrun_later") == 0 && launches++ > 0;
    const bool over = std::strcmp(name, "overrun") == 0 || later;
    std::memset(reinterpret_cast<void*>(address), std::strcmp(name, "zeros") == 0 ? 0 : 1,
                static_cast<std::size_t>(count) + (over ? 1 : 0));
  }
  return 0;
}

int cuLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned shared, void*, void**, void** extra) {
  if (fails("cuLaunchKernel")) return 1;
  std::memset(clusters, 0, sizeof clusters);
  return begin(function, shared, extra);
}

int cuLaunchKernelEx(const LaunchConfig* config, void* function, void**, void** extra) {
  if (fails("cuLaunchKernelEx")) return 1;
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    if (config->attributes[i].id != 4) return 1;
    for (int d = 0; d < 3; ++d) clusters[d] = static_cast<int>(config->attributes[i].value[d]);
  }
  if (clusters[0] * clusters[1] * clusters[2] > 8 && !large_clusters) return 912;
  return begin(function, config->shared, extra);
}

int cuEventCreate(void** event, unsigned) {
  if (fails("cuEventCreate")) return 2;
  *event = &fault;
  ++events;
  return 0;
}

int cuEventRecord(void*, void*) { return result("cuEventRecord"); }

int cuEventQuery(void*) {
  if (queries_left >= 0 && queries_left-- == 0) fault = 0;
  return fault;
}

int cuEventElapsedTime(float* milliseconds, void*, void*) {
  *milliseconds = 0.5f;
  return 0;
}

int cuEventDestroy_v2(void*) {
  if (fault == 600) std::abort();
  --events;
  return 0;
}

#ifndef PLUMBLINE_STAND_IN_WITHOUT_MAPS
// The map is the arguments, in 16 numbers: the options, a byte each from data type to fill;
// address; 5 sizes; 4 strides; 5 boxes, with their element strides in the upper halves.
int cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* address,
                           const std::uint64_t* dims, const std::uint64_t* strides,
                           const unsigned* box, const unsigned* steps, int interleave, int swizzle,
                           int promotion, int fill) {
  if (reinterpret_cast<std::uintptr_t>(map) % 64 != 0) return 1;
  std::uint64_t numbers[16] = {};
  const int options[] = {type, static_cast<int>(rank), interleave, swizzle, promotion, fill};
  for (int i = 0; i < 6; ++i) numbers[0] |= static_cast<std::uint64_t>(options[i]) << (8 * i);
  numbers[1] = reinterpret_cast<std::uint64_t>(address);
  for (unsigned d = 0; d < rank; ++d) {
    numbers[2 + d] = dims[d];
    if (d + 1 < rank) numbers[7 + d] = strides[d];
    numbers[11 + d] = box[d] | static_cast<std::uint64_t>(steps[d]) << 32;
  }
  std::memcpy(map, numbers, sizeof numbers);
  return result("cuTensorMapEncodeTiled");
}
#endif

int cuGetErrorName(int, const char** name) {
  *name = "CUDA_ERROR_STAND_IN";
  return 0;
}

int cuGetErrorString(int, const char** text) {
  *text = "made to fail";
  return 0;
}

}  // extern "C"
