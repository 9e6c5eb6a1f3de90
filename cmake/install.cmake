# What `make install` installs. The manual page and the completions are printed by the program
# itself, from its option tables; where it cannot run (cross-compiling) they are left out.
file(RELATIVE_PATH PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" PC_PREFIX ${PC_PREFIX})
configure_file(cmake/artreeformer.pc.in artreeformer.pc @ONLY)

add_custom_target(product) # all of it, and no tests
add_dependencies(product artreeformer_cli artreeformer artreeformer_static)
install(TARGETS artreeformer_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS artreeformer LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${STATIC_LIBRARY} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/artreeformer.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_BINARY_DIR}/artreeformer.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
  set(PRINTED ${PROJECT_BINARY_DIR}/artreeformer.1)
  add_custom_command(OUTPUT ${PRINTED} DEPENDS artreeformer_cli
    COMMAND artreeformer_cli --print-manual > ${PRINTED})
  foreach(shell bash zsh fish)
    set(script ${PROJECT_BINARY_DIR}/completion.${shell})
    add_custom_command(OUTPUT ${script} DEPENDS artreeformer_cli
      COMMAND artreeformer_cli --print-completion ${shell} > ${script})
    list(APPEND PRINTED ${script})
  endforeach()
  add_custom_target(printed ALL DEPENDS ${PRINTED})
  add_dependencies(product printed)
  install(FILES ${PROJECT_BINARY_DIR}/artreeformer.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  set(share ${CMAKE_INSTALL_DATADIR})
  install(FILES ${PROJECT_BINARY_DIR}/completion.bash
    DESTINATION ${share}/bash-completion/completions RENAME artreeformer)
  install(FILES ${PROJECT_BINARY_DIR}/completion.zsh
    DESTINATION ${share}/zsh/site-functions RENAME _artreeformer)
  install(FILES ${PROJECT_BINARY_DIR}/completion.fish
    DESTINATION ${share}/fish/vendor_completions.d RENAME artreeformer.fish)
endif()
