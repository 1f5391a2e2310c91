// SPDX-License-Identifier: MIT
// A stand-in for libcuda.so.1: device memory is host memory, a "kernel" is an entry name this file
// knows. The environment says what goes wrong: PLUMBLINE_STAND_IN_FAIL=cuMemAlloc_v2 makes that
// call fail, PLUMBLINE_STAND_IN_DEVICES=0 leaves no GPU, PLUMBLINE_STAND_IN_MAJOR=8 is a chip
// before Hopper. Compiled with PLUMBLINE_STAND_IN_WITHOUT_MAPS it is a driver that knows no tensor
// maps.
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

int fault = 0;  // what the next event query reports
int context = 0;      // how many were reset
bool broken = false;  // by an illegal instruction, until the context is reset

// A module is of the context that it was loaded in.
int module_of[64] = {};

struct Function {
  char name[64];
};

std::deque<Function> functions;  // of all modules there ever were
std::set<void*> allocated;       // what a reset of the context takes with it

int opted_in = 0;  // most dynamic shared memory

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

int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &fault;
  return result("cuDevicePrimaryCtxRetain");
}

int cuDevicePrimaryCtxReset_v2(int) {
  ++context;
  if (!fails("cuDevicePrimaryCtxReset_v2")) broken = false;
  while (!allocated.empty()) free_memory(*allocated.begin());
  return 0;
}

int cuDevicePrimaryCtxRelease_v2(int) { return 0; }

int cuCtxSetCurrent(void*) { return result("cuCtxSetCurrent"); }

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
  return 0;
}

int cuModuleUnload(void*) { return 0; }

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

int cuFuncSetAttribute(void*, int, int bytes) {
  opted_in = bytes;
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

// Entries: "fill" writes n bytes of 1; "overrun" writes one byte more, "overrun_later" from its
// second launch on; "fault" breaks the context, "illegal" all calls until it is reset; "hang" does
// not end. All have 16 KiB of shared memory of their own.
int cuLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned shared, void*, void**, void** extra) {
  if (fails("cuLaunchKernel")) return 1;
  if (shared > 32 * 1024 && static_cast<int>(shared) > opted_in) return 1;
  const char* name = static_cast<Function*>(function)->name;
  std::uint64_t address = 0;
  std::int32_t count = 0;
  std::memcpy(&address, extra[1], 8);
  std::memcpy(&count, static_cast<char*>(extra[1]) + 8, 4);
  broken = std::strcmp(name, "illegal") == 0;
  fault = broken                            ? 715
          : std::strcmp(name, "hang") == 0  ? 600
          : std::strcmp(name, "fault") == 0 ? 700
                                            : 0;
  if (fault == 0) {
    const bool later = std::strcmp(name, "overrun_later") == 0 && launches++ > 0;
    const bool over = std::strcmp(name, "overrun") == 0 || later;
    std::memset(reinterpret_cast<void*>(address), 1,
                static_cast<std::size_t>(count) + (over ? 1 : 0));
  }
  return 0;
}

int cuEventCreate(void** event, unsigned) {
  *event = &fault;
  return result("cuEventCreate");
}

int cuEventRecord(void*, void*) { return 0; }

int cuEventQuery(void*) { return fault; }

int cuEventElapsedTime(float* milliseconds, void*, void*) {
  *milliseconds = 0.5f;
  return 0;
}

int cuEventDestroy_v2(void*) { return 0; }

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
