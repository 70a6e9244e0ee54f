/** Mutations that create, rename, move, copy and delete files and folders, and that take an upload over. */
import { needs } from '../../../auth/needs.ts'
import type { ConflictBehavior, Deleted } from '../../../services/files/index.ts'
import { builder } from '../builder.ts'
import { backEndCost } from '../cost.ts'
import { EntryRef, FolderRef, TrashItemRef } from '../refs.ts'
import { at, authorizedBy } from '../rules.ts'

const conflicts: Record<ConflictBehavior, { description: string }> = {
  FAIL: { description: 'Fails with the reason ALREADY_EXISTS. Never overwrites anything, even if two requests race.' },
  REPLACE: { description: 'Replaces the existing entry. A file can replace a file, and a folder an empty folder.' },
  RENAME: { description: 'Uses the next free name, such as "name (1).txt".' },
}

export const ConflictBehaviorEnum = builder.enumType('ConflictBehavior', {
  description: 'The behavior if the name is taken.',
  values: conflicts,
})

const conflict = 'The behavior if the name is taken.'
const toProviderId =
  'The ID of the destination provider. The default is the same provider. Between two providers, the server streams the bytes.'
const toPath = 'The destination path, including the new name. Missing folders are created.'

const CreateFolderInput = builder.inputType('CreateFolderInput', {
  description: 'A new folder.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'The ID of the provider.' }),
    path: t.string({
      required: true,
      description: 'The path of the new folder, including its name. Missing parent folders are created.',
    }),
  }),
})

const RenameInput = builder.inputType('RenameInput', {
  description: 'A new name in the same folder.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'The ID of the provider.' }),
    path: t.string({ required: true, description: 'The current path.' }),
    name: t.string({ required: true, description: 'The new name, without a "/".' }),
    conflict: t.field({ type: ConflictBehaviorEnum, defaultValue: 'FAIL', description: conflict }),
  }),
})

const MoveInput = builder.inputType('MoveInput', {
  description: 'The source and the destination.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'The ID of the provider.' }),
    path: t.string({ required: true, description: 'The current path.' }),
    toProviderId: t.id({ description: toProviderId }),
    toPath: t.string({ required: true, description: toPath }),
    conflict: t.field({ type: ConflictBehaviorEnum, defaultValue: 'FAIL', description: conflict }),
  }),
})

const CopyInput = builder.inputType('CopyInput', {
  description: 'The source and the destination.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'The ID of the provider.' }),
    path: t.string({ required: true, description: 'The current path.' }),
    toProviderId: t.id({ description: toProviderId }),
    toPath: t.string({ required: true, description: toPath }),
    conflict: t.field({ type: ConflictBehaviorEnum, defaultValue: 'FAIL', description: conflict }),
  }),
})

const DeleteInput = builder.inputType('DeleteInput', {
  description: 'The file or folder to delete.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'The ID of the provider.' }),
    path: t.string({ required: true, description: 'The path of the file or folder.' }),
    recursive: t.boolean({
      defaultValue: false,
      description: 'Whether to delete a folder that is not empty, with everything in it.',
    }),
    permanent: t.boolean({
      defaultValue: false,
      description: 'Whether to delete it at once, although the provider has a trash.',
    }),
  }),
})

const DeletePayload = builder.objectRef<Deleted>('DeletePayload').implement({
  description: 'The result of a deletion.',
  fields: t => ({
    deletedPath: t.exposeString('path', { description: 'The path of the deleted file or folder.' }),
    trashItem: t.expose('item', {
      type: TrashItemRef,
      nullable: true,
      description: 'The file or folder in the trash, for `restore`. Null if it was deleted at once.',
    }),
  }),
})

builder.mutationFields(t => ({
  createFolder: t.field({
    type: FolderRef,
    description: 'Creates a folder.',
    audit: 'FOLDER_CREATE',
    authScopes: at(needs.create),
    complexity: backEndCost,
    args: { input: t.arg({ type: CreateFolderInput, required: true, description: 'The new folder.' }) },
    resolve: (_root, args, context) =>
      context.services.files.createFolder(context.viewer, authorizedBy(context, args, needs.create), context.signal),
  }),
  rename: t.field({
    type: EntryRef,
    description: 'Renames a file or folder within its folder.',
    audit: 'RENAME',
    authScopes: at(needs.rename),
    complexity: backEndCost,
    args: { input: t.arg({ type: RenameInput, required: true, description: 'The file or folder and its new name.' }) },
    resolve: (_root, args, context) => {
      const input = { ...authorizedBy(context, args, needs.rename), conflict: args.input.conflict ?? 'FAIL' }
      return context.services.files.rename(context.viewer, input, context.signal)
    },
  }),
  move: t.field({
    type: EntryRef,
    description:
      'Moves a file, or a folder with everything in it. This is one step if the back end supports it. Otherwise a job moves the folder and goes on if the client leaves.',
    audit: 'MOVE',
    authScopes: at(needs.move),
    complexity: backEndCost,
    args: { input: t.arg({ type: MoveInput, required: true, description: 'The source and the destination.' }) },
    resolve: (_root, args, context) => {
      const input = { ...authorizedBy(context, args, needs.move), conflict: args.input.conflict ?? 'FAIL' }
      return context.services.files.move(context.viewer, input, context.signal)
    },
  }),
  copy: t.field({
    type: EntryRef,
    description:
      'Copies a file, or a folder with everything in it. A job copies the folder and goes on if the client leaves.',
    audit: 'COPY',
    authScopes: at(needs.copy),
    complexity: backEndCost,
    args: { input: t.arg({ type: CopyInput, required: true, description: 'The source and the destination.' }) },
    resolve: (_root, args, context) => {
      const input = { ...authorizedBy(context, args, needs.copy), conflict: args.input.conflict ?? 'FAIL' }
      return context.services.files.copy(context.viewer, input, context.signal)
    },
  }),
  delete: t.field({
    type: DeletePayload,
    description:
      'Moves a file or folder to the trash, or deletes it if the provider has none: see `StorageProvider.trash`. With `recursive`, a job deletes a folder that cannot go to the trash in one step, and goes on if the client leaves. An empty folder that is deleted without `recursive` does not go to the trash.',
    audit: 'DELETE',
    authScopes: at(needs.delete),
    complexity: backEndCost,
    args: { input: t.arg({ type: DeleteInput, required: true, description: 'The file or folder to delete.' }) },
    resolve: (_root, args, context) => {
      const { services, viewer, signal } = context
      const { recursive, permanent } = args.input
      const options = { recursive: recursive ?? false, permanent: permanent ?? false }
      return services.files.delete(viewer, authorizedBy(context, args, needs.delete), options, signal)
    },
  }),
}))

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
