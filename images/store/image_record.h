/*
 * image.json, the record of one image: written last when an image is made, read when it is opened.
 *
 *     {"name":"python","source":"...","created":"...","summary":"...","size_bytes":1,"file_count":1,
 *      "home":{".cache/x":"/usr/share/x"},"environment":{"NAME":"VALUE"},
 *      "layers":[{"id":"...","origin":"...","created":"...","size_bytes":1,"file_count":1}]}
 *
 * The store belongs to the user, but images may come from elsewhere: the record is not trusted.
 * Side: parent.
 */
#ifndef IMAGES_STORE_IMAGE_RECORD_H
#define IMAGES_STORE_IMAGE_RECORD_H

#include "images/store/image.h"
#include "sandbox/base/json.h"

#define RECORD_FILE "image.json"
#define RECORD_MAX (1 << 20) /* bytes */

/*
 * Reads the record in `directory_fd` into every member of the image except its name and paths. 0;
 * -ENOENT without a fault if there is none; -EINVAL if it is damaged. On failure the image may be
 * partly filled: call image_release().
 */
int image_record_read(int directory_fd, struct image *image, struct fault *fault);

/* Writes the member "layers" of a record. */
void image_record_write_layers(struct json_writer *writer, const struct image *image);

/* Writes the record of the image into `directory_fd`. 0 or a negative errno. */
int image_record_write(int directory_fd, const struct image *image, struct fault *fault);

#endif
