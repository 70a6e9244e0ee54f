import { RecentList } from '../../lib/recent-list.ts'

/** The texts that a person searched for last. */
export const recentSearches = new RecentList<string>(
  'stowage.searches',
  8,
  (a, b) => a.toLowerCase() === b.toLowerCase(),
)
