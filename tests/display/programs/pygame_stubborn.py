# SPDX-License-Identifier: Apache-2.0
"""A loop that nothing ends: it does not look at QUIT, and it catches everything."""

# needs: pygame
# env: SDL_VIDEO_WINDOW_POS=100,50
# expect: 200,150=#2e8b57
# note: the event loop was ended after the screenshot
import pygame

pygame.init()
screen = pygame.display.set_mode((320, 240))
while True:
    try:
        screen.fill("#2e8b57")
        pygame.display.flip()
        pygame.event.pump()
        pygame.time.wait(15)
    except:  # noqa: E722
        pass
