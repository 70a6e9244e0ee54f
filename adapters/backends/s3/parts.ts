/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html */

/** Bytes of a part that is not the last. */
export const minPartBytes = 5 * 1024 * 1024
/** Bytes: 5 TiB. */
export const maxFileSize = 5 * 1024 ** 4
