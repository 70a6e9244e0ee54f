import { Button as AriaButton, type ButtonProps } from 'react-aria-components'

type Variant = 'default' | 'primary' | 'danger' | 'quiet'

/**
 * While `isPending` it keeps the focus and cannot be pressed again. The library's own way is not used: it announces by an
 * element that is left without a name where the button has gone meanwhile.
 */
export function Button({
  variant = 'default',
  className = '',
  isPending = false,
  type = 'button',
  onPress,
  ...props
}: ButtonProps & { variant?: Variant; className?: string }) {
  return (
    <AriaButton
      {...props}
      {...(!isPending && onPress && { onPress })}
      type={isPending ? 'button' : type}
      className={`button ${variant} ${isPending ? 'pending' : ''} ${className}`}
    />
  )
}
