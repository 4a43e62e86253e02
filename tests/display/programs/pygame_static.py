# SPDX-License-Identifier: Apache-2.0
"""One picture, drawn once."""

# needs: pygame
# env: SDL_VIDEO_WINDOW_POS=100,50
# expect: 110,60=#1e1e28 260,200=#ffd700 180,130=#dc143c
import pygame

pygame.init()
screen = pygame.display.set_mode((320, 300))
screen.fill("#1e1e28")
pygame.draw.circle(screen, "#ffd700", (160, 150), 40)
pygame.draw.rect(screen, "#dc143c", (60, 60, 40, 40))
pygame.display.flip()
