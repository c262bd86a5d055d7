# A static library of all these sources: make -f archive.mk ARCHIVE=FILE C_FILES='A.c DIR/B.c' FLAGS='...'
# For libraries whose own build wants tools or parts that are not needed here.
object = $(subst /,_,$(1:.c=.o))

$(ARCHIVE): $(foreach file,$(C_FILES),$(call object,$(file)))
	$(AR) rcs $@ $^

define compile
$(call object,$(1)): $(1)
	$$(CC) $$(CFLAGS) $$(FLAGS) -w -c -o $$@ $$<
endef
$(foreach file,$(C_FILES),$(eval $(call compile,$(file))))
