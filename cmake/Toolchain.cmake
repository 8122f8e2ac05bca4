# Build speed: ccache in front of the compiler, lld behind it.

if(RELAY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(RELAY_CCACHE_PROGRAM ccache)
  if(RELAY_CCACHE_PROGRAM)
    # Paths below the checkout are hashed relative to it, so that several checkouts share the entries of sources that
    # are compiled each by itself. Of sources compiled together (RELAY_UNITY) they share few: those are included by
    # absolute paths, which stay in __FILE__, so in each RELAY_CHECK. The sloppiness is what precompiled headers need;
    # none of our sources uses __DATE__ or __TIME__.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env
        CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
        CCACHE_NOHASHDIR=1
        CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
        ${RELAY_CCACHE_PROGRAM})
  endif()
endif()

find_program(RELAY_LLD ld.lld)
if(RELAY_LLD)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=lld RELAY_LLD_WORKS)
  if(RELAY_LLD_WORKS)
    add_link_options(-fuse-ld=lld)
  endif()
endif()

if(RELAY_PCH AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(RELAY_PCH OFF)  # clang's hold a time stamp, which defeats ccache
endif()
