import { catalog } from './catalog.ts'
import { formatCount } from './format.ts'

/** Stars and tags. */
export const texts = catalog('marks', {
  starred: 'Starred',
  allStarred: 'All starred items',
  loadingStarred: 'Loading the starred items',
  addStar: 'Add star',
  removeStar: 'Remove star',
  isStarred: 'starred',
  noStars: 'Nothing has a star yet',
  noStarsHelp:
    'Give a star to the files and folders that you need often: they are listed here. Others see only their own.',

  tags: 'Tags',
  tag: 'Tag',
  editTags: 'Tags…',
  addTags: 'Add tags',
  taggedWith: (tag: string) => `Tag: ${tag}`,
  /** The label of a link to everything that has a tag. */
  openTag: (tag: string) => `Show everything with the tag ${tag}`,
  more: (count: number) => `+${count}`,
  loadingTagged: 'Loading what has the tag',
  noneTagged: (tag: string) => `Nothing has the tag “${tag}”.`,
  tagsOf: (name: string) => `Tags of “${name}”`,
  tagsOfMany: (count: number) => `Tags of ${formatCount(count, 'item')}`,
  newTag: 'New tag',
  newTagHelp: 'Everybody who may read the item sees its tags.',
  add: 'Add',
  remove: (tag: string) => `Remove ${tag}`,
  someHave: 'Only some of the items have the tags with a dashed line.',
  noTags: 'No tags yet.',
  tagTooLong: 'A tag has at most 50 characters.',
  tooManyTags: 'An item has at most 20 tags.',
  changedSome: (done: number, total: number) => `The tags of ${done} of ${formatCount(total, 'item')} were changed.`,
})
