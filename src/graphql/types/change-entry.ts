import { needs } from '../../auth/needs.ts'
import type { ConflictBehavior } from '../../services/files/index.ts'
import { builder } from '../builder.ts'
import { backEndCost } from '../cost.ts'
import { EntryRef, FolderRef } from '../refs.ts'
import { at } from '../rules.ts'

/** Making, renaming, moving, copying and deleting files and folders. */

const conflicts: Record<ConflictBehavior, { description: string }> = {
  FAIL: { description: 'Refuse with the reason ALREADY_EXISTS. Nothing is ever overwritten, also when two race.' },
  REPLACE: { description: 'Take the place of what is there: a file of a file, a folder only of an empty one.' },
  RENAME: { description: 'Take the next free name: "name (1).txt".' },
}

export const ConflictBehaviorEnum = builder.enumType('ConflictBehavior', {
  description: 'What happens where the name is taken.',
  values: conflicts,
})

const conflict = 'What happens where the name is taken.'
const toProviderId = 'May be another provider: the bytes are streamed. The same one unless it is given.'
const toPath = 'Where it goes, its new name included. Missing folders are made.'

const CreateFolderInput = builder.inputType('CreateFolderInput', {
  description: 'A new folder.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'Of the provider.' }),
    path: t.string({ required: true, description: 'Of the folder, its name included. Missing folders are made.' }),
  }),
})

const RenameInput = builder.inputType('RenameInput', {
  description: 'A new name in the same folder.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'Of the provider.' }),
    path: t.string({ required: true, description: 'Where it is now.' }),
    name: t.string({ required: true, description: 'Without a "/".' }),
    conflict: t.field({ type: ConflictBehaviorEnum, defaultValue: 'FAIL', description: conflict }),
  }),
})

const MoveInput = builder.inputType('MoveInput', {
  description: 'From where to where.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'Of the provider where it is now.' }),
    path: t.string({ required: true, description: 'Where it is now.' }),
    toProviderId: t.id({ description: toProviderId }),
    toPath: t.string({ required: true, description: toPath }),
    conflict: t.field({ type: ConflictBehaviorEnum, defaultValue: 'FAIL', description: conflict }),
  }),
})

const CopyInput = builder.inputType('CopyInput', {
  description: 'From where to where.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'Of the provider where it is.' }),
    path: t.string({ required: true, description: 'Where it is.' }),
    toProviderId: t.id({ description: toProviderId }),
    toPath: t.string({ required: true, description: toPath }),
    conflict: t.field({ type: ConflictBehaviorEnum, defaultValue: 'FAIL', description: conflict }),
  }),
})

const DeleteInput = builder.inputType('DeleteInput', {
  description: 'What to delete.',
  fields: t => ({
    providerId: t.id({ required: true, description: 'Of the provider.' }),
    path: t.string({ required: true, description: 'Of the file or folder.' }),
    recursive: t.boolean({ defaultValue: false, description: 'Whether a folder goes with all that is in it.' }),
  }),
})

const DeletePayload = builder.objectRef<{ deletedPath: string }>('DeletePayload').implement({
  description: 'What was deleted.',
  fields: t => ({ deletedPath: t.exposeString('deletedPath', { description: 'Where it was.' }) }),
})

builder.mutationFields(t => ({
  createFolder: t.field({
    type: FolderRef,
    description: 'Makes a folder.',
    audit: 'FOLDER_CREATE',
    authScopes: at(needs.create),
    complexity: backEndCost,
    args: { input: t.arg({ type: CreateFolderInput, required: true, description: 'The folder.' }) },
    resolve: (_root, { input }, { services, viewer, signal }) => services.files.createFolder(viewer, input, signal),
  }),
  rename: t.field({
    type: EntryRef,
    description: 'Gives a file or folder another name in the same folder.',
    audit: 'RENAME',
    authScopes: at(needs.rename),
    complexity: backEndCost,
    args: { input: t.arg({ type: RenameInput, required: true, description: 'What, and its new name.' }) },
    resolve: (_root, { input }, { services, viewer, signal }) =>
      services.files.rename(viewer, { ...input, conflict: input.conflict ?? 'FAIL' }, signal),
  }),
  move: t.field({
    type: EntryRef,
    description: 'Moves a file, or a folder with all in it; one step where the back end can.',
    audit: 'MOVE',
    authScopes: at(needs.move),
    complexity: backEndCost,
    args: { input: t.arg({ type: MoveInput, required: true, description: 'From where to where.' }) },
    resolve: (_root, { input }, { services, viewer, signal }) =>
      services.files.move(viewer, { ...input, conflict: input.conflict ?? 'FAIL' }, signal),
  }),
  copy: t.field({
    type: EntryRef,
    description: 'Copies a file, or a folder with all in it.',
    audit: 'COPY',
    authScopes: at(needs.copy),
    complexity: backEndCost,
    args: { input: t.arg({ type: CopyInput, required: true, description: 'From where to where.' }) },
    resolve: (_root, { input }, { services, viewer, signal }) =>
      services.files.copy(viewer, { ...input, conflict: input.conflict ?? 'FAIL' }, signal),
  }),
  delete: t.field({
    type: DeletePayload,
    description: 'Deletes a file or a folder, for good.',
    audit: 'DELETE',
    authScopes: at(needs.delete),
    complexity: backEndCost,
    args: { input: t.arg({ type: DeleteInput, required: true, description: 'What to delete.' }) },
    resolve: async (_root, { input }, { services, viewer, signal }) => ({
      deletedPath: await services.files.delete(viewer, input, { recursive: input.recursive ?? false }, signal),
    }),
  }),
}))
