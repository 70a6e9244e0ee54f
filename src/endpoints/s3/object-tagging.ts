import { S3Error } from './failure.ts'
import type { ObjectCall, S3Operation } from './operation.ts'
import { sendXml } from './send.ts'
import { element, result } from './xml.ts'

/** Returns no tags, because objects cannot have any. The AWS CLI asks before it copies a large object. */
export const getObjectTagging: S3Operation<ObjectCall> = {
  method: 'GET',
  selects: ['tagging'],
  async run({ services, request, reply, providerId, path, isFolder, signal }) {
    const { kind } = await services.files.stat(request.viewer, { providerId, path }, signal)
    if ((kind === 'directory') !== isFolder) throw new S3Error('NoSuchKey', 'There is no object with this key.')
    return sendXml(reply, result('Tagging', [element('TagSet', [])]))
  },
}
