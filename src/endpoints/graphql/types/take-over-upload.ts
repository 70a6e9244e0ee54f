import { needs } from '../../../auth/needs.ts'
import { builder } from '../builder.ts'
import { backEndCost } from '../cost.ts'
import { at, authorizedBy } from '../rules.ts'

const TakeOverUploadInput = builder.inputType('TakeOverUploadInput', {
  description: 'An unfinished upload that reserves a path.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'The ID of the provider.' }),
    path: t.string({ required: true, description: 'The path of the file, including its name.' }),
    uploadId: t.id({
      required: true,
      description: 'The ID of the upload, as `extensions.upload.id` of the error UPLOAD_UNDER_WAY names it.',
    }),
  }),
})

const TakeOverUploadPayload = builder.objectRef<{ path: string }>('TakeOverUploadPayload').implement({
  description: 'The result of taking over an upload.',
  fields: t => ({ path: t.exposeString('path', { description: 'The path, at which you can begin an upload now.' }) }),
})

builder.mutationField('takeOverUpload', t =>
  t.field({
    type: TakeOverUploadPayload,
    description:
      'Ends an unfinished upload of anybody that reserves a path, and deletes its bytes, so that you can upload a file there. Its client gets NOT_FOUND.',
    audit: 'UPLOAD_TAKE_OVER',
    authScopes: at(needs.create),
    complexity: backEndCost,
    args: { input: t.arg({ type: TakeOverUploadInput, required: true, description: 'The upload.' }) },
    resolve: (_root, args, context) => {
      const input = { ...authorizedBy(context, args, needs.create), uploadId: args.input.uploadId }
      return context.services.uploads.takeOver(context.viewer, input, context.signal)
    },
  }),
)
