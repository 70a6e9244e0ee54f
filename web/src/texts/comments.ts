import { catalog } from './catalog.ts'

/** Comments on files and folders. */
export const texts = catalog('comments', {
  comments: 'Comments',
  write: 'Write a comment',
  help: 'Everybody who may read the item can read its comments. Type @ to mention somebody.',
  /** The button that adds the comment. */
  add: 'Comment',
  none: 'No comments yet.',
  edited: 'edited',
  editComment: 'Edit comment',
  formerMember: 'Former member',
  /** The label of a list of names. */
  people: 'People to mention',
  deleteQuestion: 'Delete this comment?',
  getsMentions: 'Email me when a comment mentions me',
})
