//===- Module.cpp - parseModule -------------------------------------------===//
//
// Guarantees: a Module holds one Program for each kernel; the syntax tree is gone.
//
//===----------------------------------------------------------------------===//
#include "exec/ModuleImpl.h"

#include "exec/Decoder.h"
#include "ptx/Parser.h"

namespace weft::emu {


int ModuleImpl::findKernel(std::string_view name) const {
  for (size_t i = 0; i < kernelInfos.size(); ++i)
    if (kernelInfos[i].name == name)
      return int(i);
  return -1;
}

int ModuleImpl::findGlobal(std::string_view name) const {
  for (size_t i = 0; i < globalInfos.size(); ++i)
    if (globalInfos[i].name == name)
      return int(i);
  return -1;
}

static bool collectGlobals(const ptx::Text &text, ModuleTables &tables, std::vector<GlobalInfo> &out, Diagnostic &diagnostic) {
  std::vector<const ptx::Variable *> variables;
  for (uint32_t i = 0; i < text.globals.size(); ++i) {
    const ptx::Variable &v = text.globals[i];
    bool isShared = v.space == ptx::Space::Shared;
    auto &map = isShared ? tables.sharedIndex : tables.globalIndex;
    if (auto it = map.find(v.name); it != map.end()) {
      bool redeclares = v.isExtern || text.globals[i].init.empty();
      if (!redeclares)
        return diagnostic = {"duplicate definition of '" + v.name + "'", v.line}, false;
      continue;
    }
    map[v.name] = isShared ? i : uint32_t(out.size());
    if (isShared)
      continue;
    GlobalInfo g;
    g.name = v.name, g.size = v.size, g.align = v.align ? v.align : 1, g.init = v.init;
    g.isConst = v.space == ptx::Space::Const;
    g.isExtern = v.isExtern;
    out.push_back(std::move(g));
    variables.push_back(&v);
  }
  for (size_t i = 0; i < out.size(); ++i)
    for (const ptx::Variable::Reloc &r : variables[i]->relocs) {
      auto it = tables.globalIndex.find(r.symbol);
      if (it == tables.globalIndex.end())
        return diagnostic = {"unknown symbol '" + r.symbol + "' in an initial value", r.line}, false;
      out[i].relocations.push_back({r.offset, r.size, it->second, r.addend});
    }
  return true;
}

std::unique_ptr<Module> parseModule(std::string_view ptx, unsigned smVersion, Diagnostic &diagnostic) {
  diagnostic = {};
  if (!isMachineSupported()) {
    diagnostic.message = "the emulator needs a processor with AVX2, FMA and F16C";
    return nullptr;
  }
  ptx::Text text;
  if (!ptx::parse(ptx, text, diagnostic))
    return nullptr;
  if (text.target > smVersion) {
    diagnostic = {"PTX is for sm_" + std::to_string(text.target) + ", the device is sm_" + std::to_string(smVersion), 0};
    return nullptr;
  }
  if (text.targetSuffix && text.target != smVersion && !(text.targetSuffix == 'f' && text.target / 10 == smVersion / 10)) {
    diagnostic = {"PTX for sm_" + std::to_string(text.target) + text.targetSuffix + " runs on that architecture only", 0};
    return nullptr;
  }
  auto module = std::make_unique<ModuleImpl>();
  ModuleTables tables;
  tables.text = &text;
  tables.sm = smVersion;
  for (uint32_t i = 0; i < text.functions.size(); ++i)
    tables.functionIndex[text.functions[i].name] = i;
  if (!collectGlobals(text, tables, module->globalInfos, diagnostic))
    return nullptr;
  for (const ptx::Function &f : text.functions) {
    if (!f.isEntry || !f.isDefined)
      continue;
    KernelInfo info;
    auto program = std::make_unique<Program>();
    if (!Decoder(tables, *program, diagnostic).kernel(f, info))
      return nullptr;
    for (const Inst &i : program->code)
      info.floatAtomics |= (i.flags & instflag::Float) != 0;
    module->kernelInfos.push_back(std::move(info));
    module->programs.push_back(std::move(program));
  }
  // Functions that no kernel calls are checked too.
  module->opNames = std::move(tables.opNames);
  module->sm = text.target;
  module->version = text.version;
  return module;
}

} // namespace weft::emu
