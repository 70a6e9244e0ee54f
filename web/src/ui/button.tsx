/** The components that all pages share. They know the session and the texts, but no page. */
import type { Ref } from 'react'
import { Button as AriaButton, type ButtonProps } from 'react-aria-components'

type Variant = 'default' | 'primary' | 'danger' | 'quiet'

/**
 * A button that keeps the focus and cannot be pressed while `isPending`. The library's own `isPending` is not used: when
 * the button disappears meanwhile, it leaves an element without a name behind.
 */
export function Button({
  variant = 'default',
  className = '',
  isPending = false,
  type = 'button',
  onPress,
  ...props
}: ButtonProps & { variant?: Variant; className?: string; ref?: Ref<HTMLButtonElement> }) {
  return (
    <AriaButton
      {...props}
      {...(!isPending && onPress && { onPress })}
      type={isPending ? 'button' : type}
      className={`button ${variant} ${isPending ? 'pending' : ''} ${className}`}
    />
  )
}
