# Builds the libraries of the static programs: make -f libraries.mk SOURCES=DIR SYSROOT=DIR TOOLS=DIR TARGET=TRIPLE
#
# SOURCES has a folder with the source of each, where it is built. TOOLS has cc, ar and ranlib for TARGET; this cc
# looks into SYSROOT, and keeps paths out of what it compiles. Built is only what the programs use. See programs.py.

# The longest first.
LIBRARIES = openssl zlib zstd xz yajl seccomp cares archive git2 curl

# Each function has its own section, so that the linker drops those that no program needs.
export CFLAGS = -O2 -g0 -fPIC -ffunction-sections -fdata-sections -fno-sanitize=undefined -fstack-protector-strong \
	-fstack-clash-protection -ftrivial-auto-var-init=zero \
	$(if $(filter x86_64%,$(TARGET)),-fcf-protection,-mbranch-protection=standard)
export PATH := $(TOOLS):$(PATH)
export PKG_CONFIG_LIBDIR = $(SYSROOT)/lib/pkgconfig
export CC = cc
export AR = ar
export RANLIB = ranlib

CONFIGURE = ./configure --host=$(TARGET) --prefix=$(SYSROOT) --disable-shared --enable-static \
	--disable-dependency-tracking --silent
ARCHIVE = $(MAKE) -f $(abspath $(dir $(lastword $(MAKEFILE_LIST))))/archive.mk
ENTER = @echo '  $(notdir $@)' && cd $(SOURCES)/$(notdir $@) && exec >build.log 2>&1 &&
DONE = && touch $@
HEADERS = install -m 644 -D -t $(SYSROOT)/include
define DESCRIBE
printf 'Name: %s\nDescription: %s\nVersion: %s\nLibs: -L$(SYSROOT)/lib -l%s\nCflags: -I$(SYSROOT)/include\n'
endef
built = $(1:%=$(SYSROOT)/built/%)

.PHONY: all
all: $(call built,$(LIBRARIES))
$(call built,$(LIBRARIES)): | $(SYSROOT)/built
$(SYSROOT)/built:
	@mkdir -p $@ $(SYSROOT)/lib/pkgconfig $(SYSROOT)/include

# TLS 1.2 and 1.3 and digests. The host's configuration may name modules, which a static program cannot load.
# The prefix would be compiled in.
$(call built,openssl):
	$(ENTER) ./Configure linux-$(firstword $(subst -, ,$(TARGET))) --prefix=/ --libdir=lib --openssldir=/etc/ssl \
		no-shared no-apps no-docs no-tests no-autoload-config no-module no-engine no-dso no-legacy \
		no-ssl3 no-dtls no-quic no-srp no-srtp no-comp no-ct no-ts no-cms no-cmp no-ui-console \
		no-rc2 no-rc4 no-md4 no-mdc2 no-idea no-seed no-bf no-cast no-des no-camellia no-aria no-sm2 no-sm3 no-sm4 \
		no-whirlpool no-rmd160 no-blake2 no-siphash no-gost no-ocb no-dsa no-slh-dsa no-scrypt no-argon2 \
		no-ec2m no-rfc3779 no-ocsp no-nextprotoneg no-psk no-tls1 no-tls1_1 no-sslkeylog $(CFLAGS) && \
	$(MAKE) build_libs && $(MAKE) install_dev DESTDIR=$(SYSROOT) && \
	sed -i 's,^prefix=.*,prefix=$(SYSROOT),' $(SYSROOT)/lib/pkgconfig/libssl.pc \
		$(SYSROOT)/lib/pkgconfig/libcrypto.pc $(SYSROOT)/lib/pkgconfig/openssl.pc $(DONE)

$(call built,zlib):
	$(ENTER) ./configure --static --prefix=$(SYSROOT) && $(MAKE) libz.a && $(MAKE) install $(DONE)

$(call built,zstd):
	$(ENTER) $(MAKE) -C lib PREFIX=$(SYSROOT) install-static install-includes install-pc $(DONE)

$(call built,xz):
	$(ENTER) $(CONFIGURE) --disable-xz --disable-xzdec --disable-lzmadec --disable-lzmainfo --disable-lzma-links \
		--disable-scripts --disable-doc --disable-nls && $(MAKE) install $(DONE)

# Its own build needs cmake.
$(call built,yajl):
	$(ENTER) $(HEADERS)/yajl src/api/*.h && \
	sed 's/$${YAJL_MAJOR}/2/; s/$${YAJL_MINOR}/1/; s/$${YAJL_MICRO}/0/' src/api/yajl_version.h.cmake \
		>$(SYSROOT)/include/yajl/yajl_version.h && \
	$(ARCHIVE) ARCHIVE=$(SYSROOT)/lib/libyajl.a C_FILES="$$(echo src/*.c)" && \
	$(DESCRIBE) yajl JSON 2.1.0 yajl >$(SYSROOT)/lib/pkgconfig/yajl.pc $(DONE)

$(call built,seccomp):
	$(ENTER) $(CONFIGURE) && $(MAKE) -C include install && $(MAKE) -C src install && \
	$(MAKE) install-pkgconfDATA $(DONE)

$(call built,cares):
	$(ENTER) $(CONFIGURE) --disable-tests && $(MAKE) install $(DONE)

# Reading of tar with gzip, xz and zstd.
$(call built,archive): $(call built,zlib zstd xz)
	$(ENTER) $(CONFIGURE) --disable-bsdtar --disable-bsdcat --disable-bsdcpio --disable-bsdunzip --disable-acl \
		--disable-xattr --without-bz2lib --without-libb2 --without-lz4 --without-lzo2 --without-cng --without-openssl \
		--without-nettle --without-mbedtls --without-xml2 --without-expat --without-iconv && $(MAKE) install $(DONE)

# HTTP/1.1 with TLS. It knows no certificates: those of the host are found at run time.
$(call built,curl): $(call built,openssl)
	$(ENTER) $(CONFIGURE) --with-openssl --without-zlib --without-zstd --without-brotli --without-libpsl \
		--without-libidn2 --without-nghttp2 --without-librtmp --without-libssh2 --without-libgsasl \
		--without-ca-bundle --without-ca-path --disable-openssl-auto-load-config $(addprefix --disable-,ftp file ldap ldaps rtsp dict telnet tftp pop3 \
		imap smb smtp gopher mqtt ipfs manual docs websockets ntlm tls-srp negotiate-auth kerberos-auth aws doh alt-svc \
		hsts netrc) && \
	$(MAKE) -C lib install && $(MAKE) -C include install && $(MAKE) install-pkgconfigDATA $(DONE)

# The comparison of buffers, without a parser of HTTP.
GIT2_FEATURES = ARCH_64 USE_NSEC USE_STAT_MTIM USE_FUTIMENS REGEX_REGCOMP SHA1_COLLISIONDETECT SHA256_BUILTIN \
	RAND_GETENTROPY IO_POLL
GIT2_FILES = src/util/*.c src/util/unix/*.c src/util/allocators/failalloc.c src/util/allocators/stdalloc.c \
	src/util/hash/builtin.c src/util/hash/collisiondetect.c src/util/hash/sha1dc/*.c \
	src/util/hash/rfc6234/sha224-256.c src/libgit2/*.c src/libgit2/streams/*.c src/libgit2/transports/*.c deps/xdiff/*.c
GIT2_FLAGS = -D_GNU_SOURCE -DSHA1DC_NO_STANDARD_INCLUDES=1 -Isrc/util -Isrc/libgit2 -Iinclude -Ideps/xdiff \
	-DSHA1DC_CUSTOM_INCLUDE_SHA1_C=\"git2_util.h\" -DSHA1DC_CUSTOM_INCLUDE_UBC_CHECK_C=\"git2_util.h\"
$(call built,git2): $(call built,zlib)
	$(ENTER) printf '#define GIT_%s 1\n' $(GIT2_FEATURES) >src/util/git2_features.h && \
	$(ARCHIVE) ARCHIVE=$(SYSROOT)/lib/libgit2.a FLAGS='$(GIT2_FLAGS)' \
		C_FILES="$$(ls $(GIT2_FILES) | grep -v http | xargs)" && \
	cp -R include/git2.h include/git2 $(SYSROOT)/include && \
	$(DESCRIBE) libgit2 Git 1.9.0 'git2 -lz' >$(SYSROOT)/lib/pkgconfig/libgit2.pc $(DONE)
